package mask

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/onefold/onefold/internal/seeds"
)

func compile(t *testing.T, r Rules) *Masker {
	t.Helper()
	m, err := r.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestDetectors(t *testing.T) {
	m := compile(t, Default())
	for path, want := range map[string]string{
		"/user/jane@example.com/reset/4f2a7c":               "/user/:email/reset/:token",
		"/user/jane%40example.com":                          "/user/:email",
		"/user/jane%2540example.com/":                       "/user/:email/",
		"/user/jane%25%34%30example.com":                    "/user/:email",
		"/user/JANE.DOE+news@Mail.Example.CO.UK":            "/user/:email",
		"/user/j%C3%BCrgen@b%C3%BCcher.example":             "/user/:email",
		"/user/jürgen@bücher.example/a":                     "/user/:email/a",
		"/u/qq@163.com":                                     "/u/:email",
		"/u/a@xn--bcher-kva.xn--p1ai":                       "/u/:email",
		"/bounce/x=jane=example.com@lists.example":          "/bounce/:email",
		"/@jane@mastodon.example/112":                       "/:email/112",
		"//jane@example.com":                                "//:email",
		"/mailto:jane@example.com":                          "/:email",
		"/call/+4915112345678":                              "/call/:phone",
		"/call/tel:%2B49%20151%201234-5678":                 "/call/:phone",
		"/doc/3f2504e0-4f89-11d3-9a0c-0305e82c3301":         "/doc/:uuid",
		"/invoice-3F2504E0-4F89-11D3-9A0C-0305E82C3301.pdf": "/invoice-:uuid.pdf",
		"/reset-password/AB12CD":                            "/reset-password/:token",
		"/verify_email/482913":                              "/verify_email/:token",
		"/magic/x7Kp2Q":                                     "/magic/:token",
		"/s/9f86d081884c7d659a2feaa0c55ad015":               "/s/:token",
		"/s/9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08.html":                        "/s/:token.html",
		"/cart;jsessionid=1A530637289A03B07199A44E8D531427":                                               "/cart;jsessionid=:token",
		"/s/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U": "/s/:token",
		"/checkout/cs_test_a1Rk9ZxQ7vLm2Np4Tt8Bc6Yw3Hd5Jf0Gs1Ke":                                          "/checkout/:token",
		"/s/01J8Z6V0Q4W3N7M2K5T9R1X8BC":                                                                   "/s/:token",
		"/s/12345678901234567890":                                                                         "/s/:token",
		"/s/q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA%3D":                                               "/s/:token",
	} {
		if got := m.Path(path); got != want {
			t.Errorf("%s\n got %s\nwant %s", path, got, want)
		}
	}
}

// Random texts are found as often as decision 0066 says.
func TestRandomTexts(t *testing.T) {
	const capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	g := generator{rand.New(rand.NewPCG(1, 2))}
	for _, c := range []struct {
		alphabet string
		percent  [2]float64 // at least, of texts of 20 and of 32 characters
	}{
		{hex, [2]float64{100, 100}},
		{small + capitals + "0123456789", [2]float64{99, 99.9}},
		{small + capitals + "0123456789-_", [2]float64{96, 99}},
		{small + "0123456789", [2]float64{97, 99}},
		{capitals + "234567", [2]float64{93, 97}},
		{small + capitals, [2]float64{94, 98}},
		{small, [2]float64{56, 60}},
	} {
		for i, want := range c.percent {
			const all = 20_000
			length := 20 + 12*i
			found := 0
			for range all {
				if isRandom(g.of(c.alphabet, length)) {
					found++
				}
			}
			if got := 100 * float64(found) / all; got < want {
				t.Errorf("%.2f %% of texts of %d from %s are found, want at least %.2f", got, length, c.alphabet, want)
			}
		}
	}
}

// Paths that must count as they are.
var ordinary = []string{
	"", "/", "//", "/a/b/", "/2024/05/12/release-notes", "/blog/10-things-you-did-not-know-about-onefold-in-2024",
	"/products/4006381333931", "/p/B08N5WRWNW", "/orders/100000123", "/sku/AB12-CD34-EF56-GH78", "/isbn/978-3-16-148410-0",
	"/how-to-reset-an-iphone/15pro2", "/reset/windows11", "/reset/", "/verify/step2", "/login/2024", "/docs/auth/oauth2",
	"/npm/react@18.2.0", "/npm/bootstrap@5.0.0-beta.css", "/img/logo@2x.png", "/@jane", "/@scope/package", "/c++20-features", "/a@b",
	"/wiki/Category:Featured_articles_2005", "/HowToInstallUbuntu2204OnVirtualBox", "/iphone-15-pro-max-256gb-black-5g-dual-sim",
	"/caf%C3%A9/men%C3%BC", "/100%/broken%2", "/Donaudampfschifffahrtsgesellschaftskapitaen2024", "/status/1445078208190291973", "/日本語/記事-2024",
	"/szczegolowe-informacje-o-zamowieniu", "/my-page-title-0123456789abcdef", "/:email/:token/:uuid", "/+1", "/faq/+49",
	"/fonts/xjAJXh38I15wypJXxuGMBp0EAVxt0G0biEntp43Qt6E.ttf", "/assets/9f86d081884c7d659a2feaa0c55ad015.WOFF2", "/app.9f86d081884c7d659a2f.js",
}

func TestOrdinaryPathsStay(t *testing.T) {
	m := compile(t, Default())
	for _, path := range ordinary {
		if got := m.Path(path); got != path {
			t.Errorf("%s became %s", path, got)
		}
	}
}

func TestPatterns(t *testing.T) {
	m := compile(t, Rules{Paths: []string{"/customers/:customer/**", "/*/orders/:order", "/invoice-:number.pdf", "/Café/:table", "/team/:team", "/team/:other/:member"}})
	for path, want := range map[string]string{
		"/customers/jane":              "/customers/:customer",
		"/customers/jane/":             "/customers/:customer/",
		"/Customers//jane/cards/7":     "/Customers//:customer/cards/7",
		"/%63ustomers/jane%2Fdoe":      "/%63ustomers/:customer",
		"/customers":                   "/customers",
		"/customers/":                  "/customers/",
		"/de/orders/17":                "/de/orders/:order",
		"/customers/orders/17":         "/customers/:customer/:order",
		"/de/orders/17/items":          "/de/orders/17/items",
		"/invoice-2024-7.PDF":          "/invoice-:number.pdf",
		"/invoice-.pdf":                "/invoice-.pdf",
		"/caf%C3%A9/12":                "/caf%C3%A9/:table",
		"/team/a":                      "/team/:team",
		"/team/a/b":                    "/team/:other/:member",
		"/customers/jane@example.com/": "/customers/:customer/",
		"/x/jane@example.com":          "/x/jane@example.com",
	} {
		if got := m.Path(path); got != want {
			t.Errorf("%s\n got %s\nwant %s", path, got, want)
		}
	}
}

func TestURLsAndTexts(t *testing.T) {
	m := compile(t, Rules{Detect: Kinds, Paths: []string{"/user/:name/**"}})
	for in, want := range map[string]string{
		"https://www.example.com/user/jane":                                "https://www.example.com/user/:name",
		"https://jane:secret@example.com/a?mail=jane%40example.com&b=1":    "https://example.com/a?mail=:email&b=1",
		"https://example.com?t=9f86d081884c7d659a2feaa0c55ad015#/u/a@b.cc": "https://example.com?t=:token#/u/:email",
		"android-app://com.example/x":                                      "android-app://com.example/x",
	} {
		if got := m.URL(in); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
	const id = "3f2504e0-4f89-11d3-9a0c-0305e82c3301"
	for in, want := range map[string]string{
		"pro":                                    "pro",
		id:                                       id,
		"jane@example.com":                       ":email",
		"Jane Doe <jane@example.com>, 7 a/b":     "Jane Doe <:email>, 7 a/b",
		"jane%40example.com":                     ":email",
		"+4915112345678":                         ":phone",
		"see /user/jane/cards and /about":        "see /user/:name/cards and /about",
		"https://files.example.com/" + id + "?x": "https://files.example.com/:uuid?x",
		"5+3 = 50%":                              "5+3 = 50%",
	} {
		if got := m.Text(in); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
	if got := m.Query("utm_source=jane%40example.com&utm_content=" + id); got != "utm_source=:email&utm_content="+id {
		t.Error(got)
	}
}

func TestNothingIsMaskedWithoutRules(t *testing.T) {
	for _, m := range []*Masker{nil, compile(t, Rules{})} {
		const text = "https://u@x.example/jane@example.com?a=+4915112345678"
		if m.Path(text) != text || m.URL(text) != text || m.Text(text) != text || m.Query(text) != text {
			t.Error("masked")
		}
	}
	only := compile(t, Rules{Detect: []Kind{UUID}})
	if got := only.Path("/jane@example.com/3f2504e0-4f89-11d3-9a0c-0305e82c3301"); got != "/jane@example.com/:uuid" {
		t.Error(got)
	}
}

func TestInvalidRules(t *testing.T) {
	for _, r := range []Rules{
		{Detect: []Kind{"iban"}}, {Paths: []string{""}}, {Paths: []string{"user/:name"}}, {Paths: []string{"/"}}, {Paths: []string{"/user/*"}},
		{Paths: []string{"/**/:name"}}, {Paths: []string{"/a*b/:name"}}, {Paths: []string{"/:"}}, {Paths: []string{"/:Name"}}, {Paths: []string{"/:a:b"}},
		{Paths: []string{"/:a?x"}}, {Paths: []string{"/" + strings.Repeat("a", maxPattern) + "/:a"}}, {Paths: []string{strings.Repeat("/a", maxParts) + "/:a"}},
		{Paths: []string{"/:" + strings.Repeat("a", maxName+1)}}, {Paths: []string{"/jane@example.com/:id"}}, {Paths: []string{"/a%2F:name"}},
		{Paths: slices.Repeat([]string{"/:a"}, MaxRules+1)},
	} {
		_, err := r.Compile()
		if e := (*RuleError)(nil); !errors.As(err, &e) || len(e.Reason) > 400 {
			t.Errorf("%.80v: %v", r, err)
		}
	}
}

// TestGeneratedPaths builds paths of ordinary words and secrets: no secret may remain, words must,
// and masking again must change nothing.
func TestGeneratedPaths(t *testing.T) {
	m := compile(t, Rules{Detect: Kinds, Paths: []string{"/people/:person/**", "/*/x-:part.html", "/:a/:b/c"}})
	seeds.Run(t, 20, func(t *testing.T, seed uint64) {
		g := generator{rand.New(rand.NewPCG(seed, 0))}
		for range 200 {
			path, secrets, words := g.path()
			once := m.Path(path)
			for _, s := range secrets {
				if strings.Contains(strings.ToLower(decode(once)), strings.ToLower(s)) {
					t.Fatalf("%s\nbecame %s\nwith %s", path, once, s)
				}
			}
			for _, w := range words {
				if !strings.Contains(once, w) {
					t.Fatalf("%s\nbecame %s\nwithout %s", path, once, w)
				}
			}
			if again := m.Path(once); again != once {
				t.Fatalf("%s\nbecame %s\nthen %s", path, once, again)
			}
		}
	})
}

type generator struct{ *rand.Rand }

func (g generator) of(alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[g.IntN(len(alphabet))]
	}
	return string(b)
}

const (
	small = "abcdefghijklmnopqrstuvwxyz"
	hex   = "0123456789abcdef"
)

// path returns a path with the secrets and the words in it.
func (g generator) path() (path string, secrets, words []string) {
	for range 1 + g.IntN(6) {
		if g.IntN(2) == 0 {
			w := []string{"articles", "2024", "10-best-phones", "4006381333931", "Haus_und_Hof", "v2"}[g.IntN(6)]
			words, path = append(words, w), path+"/"+w
			continue
		}
		s := g.secret()
		secrets = append(secrets, s)
		for range g.IntN(3) {
			s = url.PathEscape(strings.ReplaceAll(s, "@", "%40"))
		}
		path += "/" + s
	}
	return path, secrets, words
}

func (g generator) secret() string {
	switch g.IntN(5) {
	case 0:
		return g.of(small, 3+g.IntN(5)) + "." + g.of(small, 3) + "@" + g.of(small+"0123456789", 5) + "." + g.of(small, 2)
	case 1:
		return fmt.Sprintf("%s-%s-%s-%s-%s", g.of(hex, 8), g.of(hex, 4), g.of(hex, 4), g.of(hex, 4), g.of(hex, 12))
	case 2:
		return "+" + g.of("123456789", 8+g.IntN(8))
	case 3:
		return "a1" + g.of(hex, 30+g.IntN(33))
	}
	return g.of("23456789", 20+g.IntN(10))
}

func FuzzMask(f *testing.F) {
	for _, path := range ordinary {
		f.Add(path)
	}
	f.Add("/session-a-b-c/4f2a7c/jane@example.com")
	m, err := (&Rules{Detect: Kinds, Paths: []string{"/session-:id/**", "/*/x-:part.html/:more", "/:a"}}).Compile()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, mask := range map[string]func(string) string{"path": m.Path, "url": m.URL, "text": m.Text, "query": m.Query} {
			once := mask(text)
			if again := mask(once); again != once {
				t.Errorf("%s: %q became %q, then %q", name, text, once, again)
			}
		}
	})
}

func BenchmarkPath(b *testing.B) {
	rules := Default()
	for i := range MaxRules {
		rules.Paths = append(rules.Paths, "/"+strings.Repeat("x", i%7)+"section/:item/**")
	}
	m, err := rules.Compile()
	if err != nil {
		b.Fatal(err)
	}
	for name, path := range map[string]string{"ordinary": "/blog/2024/10-things-you-did-not-know-about-onefold", "masked": "/user/jane@example.com/reset/4f2a7c"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m.Path(path)
			}
		})
	}
}
