/** Finds the tool's name within 300 characters after the beginning of a call. */
const inJson = String.raw`[^]{0,300}?"(?:name|tool_name)"\s*:\s*"(?<name>[^"\n]{1,128})"`
const word = String.raw`(?:functions\.|default_api\.)?(?<name>[\w.-]{1,128}?)`
/** Marks before a list of calls as JSON: Nemotron, Jamba, Granite, Phi, InternLM, Command. */
const lists = String.raw`(?:<TOOLCALL>|<tool_calls>|<\|tool_call\|>|functools|<\|plugin\|>|<\|START_ACTION\|>)`

/**
 * How templates write a call as text: Hermes, Qwen, GLM, Mistral, Llama, DeepSeek, Kimi, Claude, Gemma, LongCat, LFM,
 * ReAct, Harmony, Cline, xLAM, Apertus, Functionary, and those of `lists`.
 */
const forms: readonly RegExp[] = [
  new RegExp(String.raw`<tool_call>\s*\{${inJson}`, 'g'),
  new RegExp(String.raw`<tool_call>\s*${word}\s*(?:<(?:arg_key|tool_sep|/tool_call)|\x60{3})`, 'g'),
  new RegExp(String.raw`${lists}(?:\s*\[)?\s*\{${inJson}`, 'g'),
  new RegExp(String.raw`<\|tool_call>\s*call:${word}\s*\{`, 'g'),
  new RegExp(String.raw`<longcat_tool_call>\s*${word}\s*<`, 'g'),
  new RegExp(
    String.raw`(?:<\|tool_call_start\|>|<function_calls>|\x60{3}tool_c(?:ode|all))\s*\[?${word}\(`,
    'g',
  ),
  new RegExp(String.raw`^Action:\s*${word}\s*\nAction Input:`, 'gm'),
  new RegExp(String.raw`\[TOOL_CALLS\](?:\s*\[)?\s*\{${inJson}`, 'g'),
  new RegExp(String.raw`\[TOOL_CALLS\]\s*${word}\s*(?:\[|\{)`, 'g'),
  new RegExp(String.raw`<\|python_tag\|>\s*\{${inJson}`, 'g'),
  new RegExp(String.raw`<function=${word}\s*[>{]`, 'g'),
  new RegExp(String.raw`<(?:｜DSML｜|\w{1,20}:)?(?:invoke|function) name="${word}">`, 'g'),
  new RegExp(String.raw`<tool_name>\s*${word}\s*</tool_name>`, 'g'),
  new RegExp(String.raw`<(?:tools|function_call)>\s*\{${inJson}`, 'g'),
  new RegExp(String.raw`^Action:\s*\x60{3}(?:json)?\s*\[?\s*\{${inJson}`, 'gm'),
  new RegExp(String.raw`<\|tools_prefix\|>\s*\[\s*\{\s*"(?<name>[^"\n]{1,128})"\s*:`, 'g'),
  new RegExp(String.raw`^print\(default_api\.${word}\(`, 'gm'),
  new RegExp(String.raw`^>>>${word}\n\s*\{`, 'gm'),
  new RegExp(String.raw`<｜tool[▁_]sep｜>\s*${word}\s`, 'g'),
  new RegExp(String.raw`<｜tool▁call▁begin｜>\s*${word}\s*<`, 'g'),
  new RegExp(String.raw`<\|tool_call_begin\|>\s*${word}(?::\d+)?\s*<`, 'g'),
  new RegExp(String.raw`^to=${word}\s`, 'gm'),
]
/** A text that is nothing but the JSON of a call, without blanks at both ends; linear for any text. */
const alone = new RegExp(
  String.raw`^(?:\x60{3}(?:json)?\s*)?(?:\[\s*)?\{\s*\"(?:name|type|id|tool|action|function|tool_calls)\"[^]*\}(?:\s*\])?(?:\s*\x60{3})?$`,
)
const nameInside = /[^]{0,300}?"(?:name|tool|action|function)"\s*:\s*"(?<name>[^"\n]{1,128})"/
/** A text that is nothing but a list of calls as Python. */
const pythonAlone = new RegExp(String.raw`^\[${word}\([^]*\)\]$`)
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
  const python = pythonAlone.exec(text.trim())?.groups?.['name'] ?? ''
  if (names.has(python)) return python
  const name = alone.test(text.trim()) ? nameInside.exec(text)?.groups?.['name'] : undefined
  const hasInput = /"(?:arguments|parameters|input|action_input)"\s*:/.test(text)
  return name !== undefined && hasInput && names.has(name) ? name : null
}
