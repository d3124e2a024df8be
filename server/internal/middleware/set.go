package middleware

// Set assigns an optional value of a request: nil leaves the field unchanged.
func Set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}
