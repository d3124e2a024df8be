package catalog

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/request"
)

// DynamoDB's limits for tags ("Tagging restrictions in DynamoDB"); lengths are in characters.
const (
	maxTags     = 50
	maxTagKey   = 128
	maxTagValue = 256
)

// AddTags adds tags to the table and replaces those with the same keys.
func (d *Table) AddTags(tags []types.Tag) error {
	all := maps.Clone(d.Tags)
	if all == nil {
		all = map[string]string{}
	}
	seen := map[string]bool{}
	for _, t := range tags {
		if err := checkTag(t); err != nil {
			return err
		}
		if seen[*t.Key] {
			return request.Invalid("Duplicate Tag Keys provided as input: Duplicate Tag Key found %s", *t.Key)
		}
		seen[*t.Key], all[*t.Key] = true, *t.Value
	}
	if len(all) > maxTags {
		return request.Invalid("Number of Tags exceed the current limit for the provided ResourceArn")
	}
	if len(all) > 0 {
		d.Tags = all
	}
	return nil
}

func checkTag(t types.Tag) error {
	switch {
	case t.Key == nil:
		return request.Invalid("The Tag Key provided is invalid, Key: null")
	case *t.Key == "" || !validTag(*t.Key, maxTagKey):
		return request.Invalid("The Tag Key provided is invalid, Key: %s", *t.Key)
	case strings.HasPrefix(strings.ToLower(*t.Key), "aws:"):
		return request.Invalid("Tag Key cannot be prefixed with aws:, Key: %s", *t.Key)
	case t.Value == nil:
		return request.Invalid("The Tag Value provided is invalid, Value: null")
	case !validTag(*t.Value, maxTagValue):
		return request.Invalid("The Tag Value provided is invalid, Value: %s", *t.Value)
	}
	return nil
}

// validTag reports whether s is short enough and contains only characters allowed in tags.
func validTag(s string, limit int) bool {
	return utf8.ValidString(s) && utf8.RuneCountInString(s) <= limit && strings.IndexFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsSpace(r) && !strings.ContainsRune("+-=._:/@", r)
	}) < 0
}

// RemoveTags removes tags by key. Missing tags are ignored.
func (d *Table) RemoveTags(keys []string) {
	d.Tags = maps.Clone(d.Tags)
	for _, k := range keys {
		delete(d.Tags, k)
	}
}

// DescribeTags returns the tags sorted by key.
func (d *Table) DescribeTags() []types.Tag {
	tags := []types.Tag{}
	for _, k := range slices.Sorted(maps.Keys(d.Tags)) {
		v := d.Tags[k]
		tags = append(tags, types.Tag{Key: &k, Value: &v})
	}
	return tags
}
