package fold

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/table"
)

// marks records, for each stream shard, up to which change an item has counted.
type marks map[string]Sequence

var errMarks = errors.New("fold: marks are not a map of strings")

func marksOf(it table.Item) (marks, error) {
	av, ok := it[AttrMarks]
	if !ok {
		return nil, nil
	}
	m, ok := av.(*types.AttributeValueMemberM)
	if !ok {
		return nil, errMarks
	}
	out := make(marks, len(m.Value))
	for shard, v := range m.Value {
		s, ok := v.(*types.AttributeValueMemberS)
		if !ok {
			return nil, errMarks
		}
		out[shard] = Sequence(s.Value)
	}
	return out, nil
}

func (m marks) attribute() types.AttributeValue {
	out := make(map[string]types.AttributeValue, len(m))
	for shard, seq := range m {
		out[shard] = &types.AttributeValueMemberS{Value: string(seq)}
	}
	return &types.AttributeValueMemberM{Value: out}
}

// stored is a derived item as loaded or written. Merging consumes its state.
type stored struct {
	state   any
	exists  bool
	version int64
	marks   marks
	loaded  uint64 // Worker.tick after the load, see shard.asOf
	guessed bool   // not loaded but assumed absent, see ExpectNew
	encoded []byte // the state as encoded in its log; nil for items and absent states
}

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func stringOf(av types.AttributeValue) string {
	s, ok := av.(*types.AttributeValueMemberS)
	if !ok {
		return ""
	}
	return s.Value
}

// zeroItem returns the smallest item of an entity: its key and the entity's name.
func zeroItem(key table.Item, entity string) table.Item {
	return table.Item{
		table.AttrPK:     key[table.AttrPK],
		table.AttrSK:     key[table.AttrSK],
		table.AttrEntity: &types.AttributeValueMemberS{Value: entity},
	}
}

// read decodes an item, which may be nil. A tombstone decodes to the zero state with marks and
// version.
func (d *delta) read(it table.Item, tick uint64) (*stored, error) {
	s := &stored{exists: it != nil, loaded: tick, version: versionOf(it)}
	var err error
	if s.marks, err = marksOf(it); err != nil {
		return nil, &poisonError{err: err}
	}
	if table.IsRemoved(it) {
		it = nil
	}
	if s.state, err = d.pipeline.decode(d, it); err != nil {
		return nil, &poisonError{err: fmt.Errorf("decode derived item: %w", err)}
	}
	return s, nil
}
