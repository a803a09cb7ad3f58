"""From a plan to what may leave: admission, charge, odometer, runs."""
