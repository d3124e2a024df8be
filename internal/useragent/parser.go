package useragent

import (
	"fmt"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Agent is the result for a user agent. For a bot, only the Bot fields are set: its other claims
// must not be counted.
type Agent struct {
	// Browser is the product's name ("Chrome", "Safari", …), from a closed list; BrowserVersion is its version as
	// "major" or, where the minor version is not zero, "major.minor".
	Browser, BrowserVersion string
	// OS is the system's name, from a closed list: "Windows", "macOS", "iOS", "Android", "Linux", …
	OS string
	// Device is one of the Device constants, or empty if unknown.
	Device string

	// Bot is true for everything that is not a browser in front of a person.
	Bot bool
	// BotName is the common name of a known bot, otherwise the name that the bot calls itself, at
	// most 64 bytes; empty if there is none.
	BotName string
	// BotReason is why it is classified as a bot: one of the Reason constants.
	BotReason string
	// AICrawler is true for the crawlers and agents of language models.
	AICrawler bool
}

// The kinds of device.
const (
	Desktop = "desktop"
	Mobile  = "mobile"
	Tablet  = "tablet"
	TV      = "tv"
	Console = "console"
)

// The reasons for classifying a user agent as a bot.
const (
	ReasonEmpty      = "empty"            // there is no user agent
	ReasonAbsurd     = "absurd"           // too long, no letters, or a browser on no operating system
	ReasonCrawler    = "crawler"          // of a search engine, an archive, a marketing tool, …
	ReasonAI         = "ai"               // crawler or agent of a language model
	ReasonFeed       = "feed reader"      // fetches feeds for its readers
	ReasonPreview    = "link preview"     // fetches a page to show a card of it
	ReasonMonitor    = "monitor"          // checks that a site is up, fast, or has no dead links
	ReasonLibrary    = "library"          // an HTTP library or a command-line tool
	ReasonHeadless   = "headless browser" // a browser without a display
	ReasonContact    = "contact address"  // browsers do not carry URLs or mail addresses
	ReasonNotBrowser = "not a browser"    // no known browser or operating system
)

const (
	// MaxLen is the length in bytes beyond which a user agent is absurd. In-app browsers come close
	// to 1,000.
	MaxLen = 2048

	// DefaultCache is the default number of agents that a Parser caches.
	DefaultCache = 4096

	// maxCached is the maximum length of a cached agent, so that the default cache takes at most 4
	// MiB.
	maxCached = 1024
)

// Parser parses user agents and caches the most recent ones. It is safe for concurrent use.
type Parser struct {
	signs map[string][]sign
	cache *lru.Cache[string, Agent]
}

// New returns a Parser that caches up to size agents; 0 means DefaultCache.
func New(size int) (*Parser, error) {
	if size == 0 {
		size = DefaultCache
	}
	cache, err := lru.New[string, Agent](size)
	if err != nil {
		return nil, fmt.Errorf("useragent: new: a cache of %d agents: %w", size, err)
	}
	return &Parser{signs: index(), cache: cache}, nil
}

// Parse classifies ua.
func (p *Parser) Parse(ua string) Agent {
	if a, ok := p.cache.Get(ua); ok {
		return a
	}
	a := p.classify(ua)
	if len(ua) <= maxCached {
		// The key must not keep alive the line that it may be a slice of.
		p.cache.Add(strings.Clone(ua), a)
	}
	return a
}

func bot(name, reason string) Agent {
	if len(name) > maxName {
		name = name[:maxName]
	}
	return Agent{Bot: true, BotName: strings.Clone(strings.ToValidUTF8(name, "")), BotReason: reason, AICrawler: reason == ReasonAI}
}

// maxName is the maximum length of a BotName, in bytes.
const maxName = 64

// classify is Parse without the cache.
func (p *Parser) classify(ua string) Agent {
	ua = strings.Trim(ua, " \"'\t")
	switch {
	case ua == "" || ua == "-":
		return bot("", ReasonEmpty)
	case len(ua) > MaxLen || !strings.ContainsFunc(ua, isLetter):
		return bot("", ReasonAbsurd)
	}
	var f findings
	p.scan(ua, &f)
	switch {
	case f.bot.kind != 0:
		return bot(f.bot.name, f.bot.reason)
	case f.suspect.kind != 0:
		return bot(f.suspect.name, f.suspect.reason)
	case f.contact:
		return bot(f.nickname(), ReasonContact)
	}
	return f.agent()
}

func isLetter(r rune) bool { return 'a' <= r|0x20 && r|0x20 <= 'z' }
