package mask

import "strings"

// replacer replaces parts of a text, from left to right.
type replacer struct {
	text string
	b    strings.Builder
	done int // bytes of text that b has
}

// replace replaces text[from:to], which is not empty.
func (r *replacer) replace(from, to int, with string) {
	r.b.WriteString(r.text[r.done:from])
	r.b.WriteString(with)
	r.done = to
}

func (r *replacer) String() string {
	if r.done == 0 {
		return r.text
	}
	r.b.WriteString(r.text[r.done:])
	return r.b.String()
}
