package expr

import (
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Parser parses expressions and caches the latest, because programs keep sending the same few
// texts. It is safe for concurrent use.
type Parser struct {
	cache *lru.Cache[cacheKey, *tree] // nil if disabled
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

// NewParser returns a parser that caches the given number of parsed expressions; 0 or less disables
// the cache. A cached expression takes about 1 KB, at most several hundred KB.
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
		src = strings.Clone(src) // the cache must not keep the request's body in memory
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
