"""What several commands share: options, the store, pages, executors, confirmation."""
