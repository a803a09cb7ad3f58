"""A released model in the forms of other libraries: ONNX and scikit-learn."""
