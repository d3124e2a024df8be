package middleware

// Set takes over a value that a request may name: nil leaves the field as it is.
func Set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}
