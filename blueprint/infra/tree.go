package infra

import (
	"bytes"
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// object is a mapping whose entries are written in order.
type object []pair

// pair is an entry, with a comment for readers.
type pair struct {
	key     string
	value   any
	comment string
}

func entry(key string, value any) pair { return pair{key: key, value: value} }

// commented returns an entry with a comment.
func commented(comment, key string, value any) pair { return pair{key, value, comment} }

// with adds entries if the condition is true.
func (o object) with(when bool, more ...pair) object {
	if when {
		return append(o, more...)
	}
	return o
}

type list []any

// function is an intrinsic function of CloudFormation, such as !Ref.
type function struct {
	tag   string
	value any
}

func ref(name string) function            { return function{"!Ref", name} }
func attribute(name, of string) function  { return function{"!GetAtt", name + "." + of} }
func substitute(template string) function { return function{"!Sub", template} }

func texts(of []string) list {
	all := make(list, len(of))
	for i, s := range of {
		all[i] = s
	}
	return all
}

// node converts a value to YAML.
func node(v any) (*yaml.Node, error) {
	switch v := v.(type) {
	case string:
		n := &yaml.Node{}
		n.SetString(v)
		return n, nil
	case int:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(v)}, nil
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v)}, nil
	case function:
		n, err := node(v.value)
		if err == nil {
			n.Tag, n.Style = v.tag, n.Style|yaml.TaggedStyle
		}
		return n, err
	case list:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range v {
			in, err := node(item)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, in)
		}
		return n, nil
	case object:
		return v.node()
	}
	return nil, fmt.Errorf("infra: cannot write a %T", v)
}

func (o object) node() (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, p := range o {
		key := &yaml.Node{HeadComment: p.comment}
		key.SetString(p.key)
		value, err := node(p.value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.key, err)
		}
		n.Content = append(n.Content, key, value)
	}
	return n, nil
}

func writeYAML(o object) ([]byte, error) {
	n, err := o.node()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		return nil, fmt.Errorf("infra: write YAML: %w", err)
	}
	return b.Bytes(), e.Close()
}
