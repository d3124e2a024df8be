package mask

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// hasEmail reports whether a text contains an email address: a local part, @, and a domain whose
// last label has letters only. Version numbers (react@18.2.0) and scaled images (logo@2x.png) are
// not addresses.
func hasEmail(text string) bool {
	for {
		local, rest, found := strings.Cut(text, "@")
		if !found {
			return false
		}
		if endsLocalPart(local) && beginsDomain(rest) {
			return true
		}
		text = rest
	}
}

func endsLocalPart(text string) bool {
	last, _ := utf8.DecodeLastRuneInString(text)
	return unicode.IsLetter(last) || unicode.IsDigit(last) || last != utf8.RuneError && strings.ContainsRune("._%+-'!#$&*=?^`{|}~\"", last)
}

func beginsDomain(text string) bool {
	end := strings.IndexFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '-' && r != '.'
	})
	if end >= 0 {
		text = text[:end]
	}
	labels := strings.Split(strings.Trim(text, ".-"), ".")
	last := labels[len(labels)-1]
	if len(labels) < 2 || labels[0] == "" || utf8.RuneCountInString(last) < 2 || isVersion(labels) {
		return false
	}
	return strings.HasPrefix(last, "xn--") || !strings.ContainsFunc(last, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) })
}

// isVersion reports whether the labels behind an @ are a version number or the scale of an image,
// such as 2x.png. Domains may begin with digits, too: 163.com.
func isVersion(labels []string) bool {
	number, scale := strings.CutSuffix(labels[0], "x")
	if number == "" || strings.Trim(number, "0123456789") != "" {
		return false
	}
	if scale {
		return len(number) == 1 && len(labels) == 2 && strings.Contains(" png jpg jpeg gif webp avif svg ", " "+labels[1]+" ")
	}
	return labels[1] != "" && isDigit(labels[1][0])
}
