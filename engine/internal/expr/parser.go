package expr

import (
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Parser parses expressions and remembers the latest: programs send the same few texts over and over. It is safe for
// concurrent use.
type Parser struct {
	cache *lru.Cache[cacheKey, *tree] // nil for none
}

type cacheKey struct {
	grammar grammar
	src     string
}

type grammar byte

const (
	conditions grammar = iota
	updates
	projections
)

// NewParser returns a parser that remembers that many parsed expressions, none for 0 or less. A remembered expression
// takes at most some hundred kilobytes, and typically one.
func NewParser(cacheEntries int) *Parser {
	p := &Parser{}
	if cacheEntries > 0 {
		if c, err := lru.New[cacheKey, *tree](cacheEntries); err == nil { // only sizes below 1 are errors
			p.cache = c
		}
	}
	return p
}

func (p *Parser) parse(g grammar, kind Kind, src string) (*tree, error) {
	key := cacheKey{g, src}
	if p.cache != nil {
		if t, ok := p.cache.Get(key); ok {
			return t, nil
		}
	}
	if p.cache != nil {
		src = strings.Clone(src) // what is remembered must not keep the request's body
		key.src = src
	}
	var t *tree
	var reason string
	switch g {
	case conditions:
		t, reason = parse(src, conditionFunctions, conditionGrammar)
	case updates:
		t, reason = parse(src, updateFunctions, updateGrammar)
	case projections:
		t, reason = parse(src, nil, projectionGrammar)
	}
	if reason != "" {
		return nil, &Error{Kind: kind, Reason: reason}
	}
	if p.cache != nil {
		p.cache.Add(key, t)
	}
	return t, nil
}
