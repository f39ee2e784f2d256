/** Finds the tool's name within 300 characters after the beginning of a call. */
const inJson = String.raw`[^]{0,300}?"name"\s*:\s*"(?<name>[^"\n]{1,128})"`
const word = String.raw`(?:functions\.)?(?<name>[\w.-]{1,128}?)`

/** How templates write a call as text: Hermes, Qwen, Mistral, Llama, DeepSeek, Kimi, Claude, Harmony. */
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
/** The maximum length of a call written as text, in characters; longer texts are answers with an example. */
const textMaxChars = 64 * 1024

/**
 * Returns the tool that an answer's text calls, as written by models whose server does not parse their chat template;
 * null if it calls none. The loop never makes such a call, because the text may be a quotation from a page or a file:
 * it tells the model once to call properly. Pure.
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
