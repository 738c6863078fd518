"""The output of `downbeat show`."""
