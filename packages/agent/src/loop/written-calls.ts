/** How far behind the beginning of a call its name is looked for, characters. */
const inJson = String.raw`[^]{0,300}?"name"\s*:\s*"(?<name>[^"\n]{1,128})"`
const word = String.raw`(?:functions\.)?(?<name>[\w.-]{1,128}?)`

/** The forms in which chat templates write a call of a tool: Hermes, Qwen, Mistral, Llama, DeepSeek, Kimi, Claude, Harmony. */
const forms: readonly RegExp[] = [
  new RegExp(String.raw`<tool_call>\s*\{${inJson}`, 'g'),
  new RegExp(String.raw`\[TOOL_CALLS\]\s*\[?\s*\{${inJson}`, 'g'),
  new RegExp(String.raw`\[TOOL_CALLS\]\s*${word}\s*(?:\[|\{)`, 'g'),
  new RegExp(String.raw`<\|python_tag\|>\s*\{${inJson}`, 'g'),
  new RegExp(String.raw`<function=${word}>`, 'g'),
  new RegExp(String.raw`<invoke name="${word}">`, 'g'),
  new RegExp(String.raw`<｜tool▁sep｜>\s*${word}\s`, 'g'),
  new RegExp(String.raw`<｜tool▁call▁begin｜>\s*${word}\s*<`, 'g'),
  new RegExp(String.raw`<\|tool_call_begin\|>\s*${word}(?::\d+)?\s*<`, 'g'),
  new RegExp(String.raw`^to=${word}\s`, 'gm'),
]
/** A text that is nothing but the JSON of a call. */
const alone = new RegExp(
  String.raw`^\s*(?:\x60{3}(?:json)?\s*)?\{\s*"(?:name|type|id)"[^]*\}\s*(?:\x60{3})?\s*$`,
)
const nameInside = new RegExp(inJson)
/** A longer text is an answer with an example in it rather than a call, characters. */
const textMaxChars = 64 * 1024

/**
 * The tool that a model means to call by writing the call into its words, as models do whose server does not read their
 * template. Null where the words call none of these tools. Such a call is never made: words may be quoted from a page or a
 * file. The model gets one notice to call properly. Pure.
 */
export function writtenCall(text: string, names: ReadonlySet<string>): string | null {
  if (text.length > textMaxChars) return null
  for (const form of forms)
    for (const { groups } of text.matchAll(form)) {
      const name = groups?.['name'] ?? ''
      if (names.has(name)) return name
    }
  const name = alone.test(text) ? nameInside.exec(text)?.groups?.['name'] : undefined
  const hasInput = /"(?:arguments|parameters|input)"\s*:/.test(text)
  return name !== undefined && hasInput && names.has(name) ? name : null
}
