package imported

// InParts makes an import store n facts at a time and call each after every part.
func (o Options) InParts(n int64, each func(day string)) Options {
	o.atOnce, o.each = n, each
	return o
}
