/** A host and port of this machine at which people usually run a model server. */
export interface LocalPlace {
  /** The provider's name, as in `ollama/qwen3`; the preset of that name has this address. */
  readonly name: string
  /** The usual name of the program. */
  readonly title: string
  /** Exact host and port: the outbound filter opens these and no other. */
  readonly place: string
}

/** Usual model servers; all of them offer OpenAI's API below `/v1`. */
export const localPlaces: readonly LocalPlace[] = [
  { name: 'ollama', title: 'Ollama', place: '127.0.0.1:11434' },
  { name: 'lmstudio', title: 'LM Studio', place: '127.0.0.1:1234' },
  { name: 'vllm', title: 'vLLM', place: '127.0.0.1:8000' },
  { name: 'llamacpp', title: 'llama.cpp', place: '127.0.0.1:8080' },
]
