package enginebench

func wireMeasures() []measure { return nil }
