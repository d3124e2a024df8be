// Package channelflags makes the flags of commands that create channels from the declared kinds of
// channels.
package channelflags

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/onefold/onefold/table/delivery"
)

// New returns flags for all kinds, to embed: one for each setting of each kind. The first of a kind is
// named for the kind, and exactly one of those is required.
func New() (all kong.Plugins) {
	for i := range delivery.Kinds {
		k := &delivery.Kinds[i]
		fields := make([]reflect.StructField, len(k.Fields))
		for j := range k.Fields {
			fields[j] = flagOf(k, j)
		}
		all = append(all, reflect.New(reflect.StructOf(fields)).Interface())
	}
	return all
}

func flagOf(k *delivery.Kind, i int) reflect.StructField {
	f := &k.Fields[i]
	flag := reflect.StructField{Name: fmt.Sprintf("Flag%d", i), Type: reflect.TypeFor[string]()}
	name, rest, help := string(k.Kind), ` xor:"kind" required:""`, f.Help
	if i > 0 {
		name, rest = name+"-"+f.Name, ""
	}
	if f.Many {
		flag.Type, help = reflect.TypeFor[[]string](), help+" Repeat or separate by commas."
	}
	placeholder := map[string]string{"url": "URL", "email": "ADDRESS"}[f.Type]
	flag.Tag = reflect.StructTag(fmt.Sprintf("name:%q help:%q placeholder:%q", name, help, cmp.Or(placeholder, strings.ToUpper(f.Name))) + rest)
	return flag
}

// Read returns kind and settings of a channel from flags of New.
func Read(flags kong.Plugins) (kind delivery.ChannelKind, s delivery.Settings) {
	for i := range delivery.Kinds {
		k, of := &delivery.Kinds[i], reflect.ValueOf(flags[i]).Elem()
		for j := range k.Fields {
			values, ok := of.Field(j).Interface().([]string)
			if text := of.Field(j).String(); !ok && text != "" {
				values = []string{text}
			}
			if len(values) == 0 {
				continue
			}
			k.Fields[j].Set(&s, values...)
			if j == 0 {
				kind = k.Kind
			}
		}
	}
	return kind, s
}
