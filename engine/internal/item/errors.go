package item

// Error is a validation error. Its text is DynamoDB's message, so that callers can pass it on.
type Error string

func (e Error) Error() string { return string(e) }

const (
	// ErrNotNumeric is returned for text that is not a decimal number.
	ErrNotNumeric = Error("The parameter cannot be converted to a numeric value")
	// ErrOverflow is returned for a number whose magnitude is above 9.99…E+125.
	ErrOverflow = Error("Number overflow. Attempting to store a number with magnitude larger than supported range")
	// ErrUnderflow is returned for a nonzero number whose magnitude is below 1E-130.
	ErrUnderflow = Error("Number underflow. Attempting to store a number with magnitude smaller than supported range")
	// ErrPrecision is returned for a number with more than 38 significant digits. DynamoDB never
	// rounds.
	ErrPrecision = Error("Attempting to store more than 38 significant digits in a Number")

	// ErrNoType is returned for a value that is nil or of a type unknown to the SDK.
	ErrNoType = Error("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
	// ErrNull is returned for a NULL that is false.
	ErrNull = Error("One or more parameter values were invalid: Null attribute value types must have the value of true")
	// ErrEmptyStringSet is returned for a string set without members.
	ErrEmptyStringSet = Error("One or more parameter values were invalid: An string set  may not be empty")
	// ErrEmptyNumberSet is returned for a number set without members.
	ErrEmptyNumberSet = Error("One or more parameter values were invalid: An number set  may not be empty")
	// ErrEmptyBinarySet is returned for a binary set without members.
	ErrEmptyBinarySet = Error("One or more parameter values were invalid: Binary sets should not be empty")
	// ErrDuplicate is returned for a set with duplicate members; for strings and bytes its text
	// lists the members.
	ErrDuplicate = Error("Input collection contains duplicates")
	// ErrNoName is returned for an empty name of an attribute in an item or map.
	ErrNoName = Error("Empty attribute name")
	// ErrLongName is returned for a name longer than MaxName bytes.
	ErrLongName = Error("Attribute name is too large, must be less than 65536 bytes")
	// ErrNesting is returned for a value nested deeper than MaxNesting.
	ErrNesting = Error("Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit")

	// ErrCorrupt is returned for bytes that Append cannot have written.
	ErrCorrupt = Error("item: stored bytes are not an item of this format")
)

// detailError is a validation error whose text repeats the invalid input.
type detailError struct {
	cause  Error
	detail string // appended to the cause's text, or replaces it if whole is set
	whole  bool
}

func (e *detailError) Error() string {
	if e.whole {
		return e.detail
	}
	return string(e.cause) + e.detail
}

func (e *detailError) Unwrap() error { return e.cause }
