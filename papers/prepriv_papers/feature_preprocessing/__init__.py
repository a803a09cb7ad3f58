"""The Importance of Feature Preprocessing for Differentially Private Linear Optimization: DPSGD-F."""
