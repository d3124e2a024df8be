package useragent

import (
	"fmt"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Agent is what a user agent says it is. Of a bot only the Bot fields are set: what else it claims is not to be counted.
type Agent struct {
	// Browser is the product's name ("Chrome", "Safari", …), from a closed list; BrowserVersion is its version as
	// "major" or, where the minor version is not zero, "major.minor".
	Browser, BrowserVersion string
	// OS is the system's name, from a closed list: "Windows", "macOS", "iOS", "Android", "Linux", …
	OS string
	// Device is one of the Device constants, or empty if it cannot be told.
	Device string

	// Bot is true for everything that is not a browser in front of a person.
	Bot bool
	// BotName is the bot's common name if it is a known one, else what it calls itself, at most 64 bytes; empty if it
	// does not say.
	BotName string
	// BotReason is why it is taken for a bot: one of the Reason constants.
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

// The reasons why a user agent is taken for a bot.
const (
	ReasonEmpty      = "empty"            // it sent none
	ReasonAbsurd     = "absurd"           // too long, no letters, or a browser on no system
	ReasonCrawler    = "crawler"          // of a search engine, an archive, a marketing tool, …
	ReasonAI         = "ai"               // crawler or agent of a language model
	ReasonFeed       = "feed reader"      // fetches feeds for its readers
	ReasonPreview    = "link preview"     // fetches a page to show a card of it
	ReasonMonitor    = "monitor"          // checks that a site is up, fast, or has no dead links
	ReasonLibrary    = "library"          // a program's HTTP library or a command-line tool
	ReasonHeadless   = "headless browser" // a browser that nobody looks at
	ReasonContact    = "contact address"  // browsers do not carry URLs or mail addresses
	ReasonNotBrowser = "not a browser"    // no browser, or no system, that is known
)

const (
	// MaxLen is the length in bytes beyond which a user agent is absurd. In-app browsers come close to 1,000.
	MaxLen = 2048

	// DefaultCache is the number of agents that a Parser remembers unless told otherwise.
	DefaultCache = 4096

	// maxCached is the length beyond which an agent is not remembered, so that the default cache is at most 4 MiB.
	maxCached = 1024
)

// Parser parses user agents and remembers those that it saw last. It is safe for concurrent use.
type Parser struct {
	signs map[string][]sign
	cache *lru.Cache[string, Agent]
}

// New returns a Parser that remembers up to size agents; 0 means DefaultCache.
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

// Parse tells what ua is.
func (p *Parser) Parse(ua string) Agent {
	if a, ok := p.cache.Get(ua); ok {
		return a
	}
	a := p.classify(ua)
	if len(ua) <= maxCached {
		// The key must not keep alive the line that it may be part of.
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

// maxName is the greatest length of a BotName, in bytes.
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
