/** How many characters of a refusal are read; the relevant sentence is at its beginning. */
const wordsMaxChars = 1000
/** Plausible context windows in tokens: no agent could work with less, and no provider offers more. */
const windowRangeTokens = { min: 2000, max: 20_000_000 } as const
/** The stated length of a prompt is ignored if it is this many times the stated context window, or more. */
const promptMaxWindows = 50

const tooLong =
  /context_length_exceeded|context.{0,20}(?:length|window|size|limit)|(?:prompt|input) is too long|(?:input(?!\[)|prompt).{0,40}(?:exceeds?|too (?:long|large)).{0,60}(?:tokens?|context|maximum)|too many (?:input )?tokens|input token count|prompt token count|maximum (?:prompt|model) length|model token limit|reduce the length of the messages|`inputs` tokens|`inputs` must have less than/i

/** Words of a rate limit or a quota, which counts tokens as well; a shorter prompt does not help. */
const isRate = /please wait|throttl|rate.?limit|tokens per (?:second|min|hour|day|month)|\bquota\b/i

/** Whether a provider refused a call because its prompt is too long, in any provider's words. Pure. */
export function saysTooLong(message: string): boolean {
  const start = message.slice(0, wordsMaxChars)
  return tooLong.test(start) && !isRate.test(start)
}

export interface StatedWindow {
  /** The model's context window in tokens, as its provider states it. */
  readonly windowTokens: number
  /** The prompt's tokens by the provider's count; null if the refusal has no count, or one below the window. */
  readonly promptTokens: number | null
}

/**
 * How providers word the refusal. `N` matches a number, `<prompt>` the length of the refused prompt, and `<window>`
 * only a number that is called the limit. An unknown sentence states no limit, whatever numbers it contains.
 */
const forms: readonly RegExp[] = [
  // Anthropic, and Bedrock for it
  form('too long: <prompt> tokens > <window>'),
  form('exceeds? context limit: <prompt> \\+ N > <window>'),
  // Google
  form('token count(?: \\(?<prompt>\\)?)? exceeds the maximum number of tokens allowed \\(?<window>'),
  // Mistral
  form('prompt contains <prompt> tokens.{0,40}too large for model with <window> maximum context length'),
  // xAI
  form('maximum prompt length is <window>(?: but the request contains <prompt> tokens)?'),
  // vLLM
  form('prompt \\(length <prompt>\\) is longer than the maximum model length of <window>'),
  // OpenAI, Azure, DeepSeek, vLLM: tokens of the messages, without those requested for the answer
  form('maximum context length is <window> tokens.{0,40}(?:messages resulted in|request has) <prompt>'),
  form('maximum context length is <window> tokens.{0,60}requested[^(]{0,30}\\(<prompt> (?:in|of)'),
  // llama.cpp
  form('request \\(<prompt> tokens\\) exceeds the available context size \\(<window> tokens\\)'),
  // OpenAI, OpenRouter, Fireworks, llama.cpp and most others
  form(
    '(?:maximum|max|available) context (?:length|window|size)(?: is| of|:|) \\(?<window>(?! tokens? exceeds)',
  ),
  form('exceeds? the configured limit of <window> tokens'),
  // LM Studio
  form('loaded with context length of only <window>'),
  // Cohere
  form('tokens in the prompt cannot exceed <window>(?: - received <prompt>)?'),
  form('too many tokens.{0,120}limit for this model is <window> tokens'),
  // Moonshot
  form('exceeded model token limit: <window>(?: \\(requested: <prompt>\\))?'),
  // GitHub's models
  form('prompt token count of <prompt> exceeds the limit of <window>'),
  // Cerebras
  form('current length is <prompt> while limit is <window>'),
  // Together, text-generation-inference
  form('`inputs` tokens \\+ `max_new_tokens` must be <= <window>'),
]

/** Returns the pattern of a wording. A number must end at a word boundary, so that `128k` is not read as 128. */
function form(source: string): RegExp {
  const number = '\\d[\\d,]{0,18}\\b'
  const pattern = source
    .replace('<window>', `(?<window>${number})`)
    .replace('<prompt>', `(?<prompt>${number})`)
    .replace(/\bN\b/, number)
  return new RegExp(pattern, 'i')
}

/** Returns the limit that a refusal states; null without a plausible one. It is only a provider's claim. Pure. */
export function statedWindow(message: string): StatedWindow | null {
  const start = message.slice(0, wordsMaxChars)
  for (const one of forms) {
    const groups = one.exec(start)?.groups
    if (!groups) continue
    const windowTokens = numberIn(groups['window'])
    const promptTokens = numberIn(groups['prompt'])
    const { min, max } = windowRangeTokens
    if (windowTokens === null || windowTokens < min || windowTokens > max) return null
    const isBeyond = promptTokens !== null && promptTokens > windowTokens
    const isBelievable = isBeyond && promptTokens < windowTokens * promptMaxWindows
    return { windowTokens, promptTokens: isBelievable ? promptTokens : null }
  }
  return null
}

function numberIn(text: string | undefined): number | null {
  if (text === undefined) return null
  const value = Number(text.replaceAll(',', ''))
  return Number.isSafeInteger(value) ? value : null
}
