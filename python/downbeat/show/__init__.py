"""What `downbeat show` prints."""
