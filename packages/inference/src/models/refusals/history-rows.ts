/** The part of a conversation that a provider rejects. */
export type HistoryPart =
  /** Tool calls and their results: names, ids, pairs, arguments, order. */
  | 'tools'
  /** Thinking that the model signed, or that must be sent back with a call. */
  | 'thinking'
  /** Pictures: too many, too large, or of a type that the model does not accept. */
  | 'images'
  /** Text that is not valid Unicode. */
  | 'text'
  /** Messages without content. */
  | 'empty'
  /** The order of roles, or the role of the last message. */
  | 'order'
  /** Some message of the conversation; the provider does not say which fault the message has. */
  | 'message'
  /** Content that the provider's content filter rejects. */
  | 'content'

/** A row of the table of refusals whose cause is the conversation; `part` is the part that the provider rejects. */
export interface HistoryRow {
  readonly means: 'history'
  readonly part: HistoryPart
  readonly status?: readonly number[]
  readonly code?: RegExp
  readonly says?: RegExp
}

const row = (part: HistoryPart, says: RegExp): HistoryRow => ({ means: 'history', part, says })

/** Servers that write the prompt with the chat template of a model answer 500, or with an error in a stream. */
const ofTemplate = (part: HistoryPart, says: RegExp): HistoryRow => ({
  ...row(part, says),
  status: [0, 400, 500],
})

/** Excludes errors of offered tools (`tools[0]`, `functions[0]`), which are not errors of the conversation. */
const notOffered = String.raw`^(?!.{0,60}\btools?\[?\.?\d)(?!.{0,60}\btools\.\d)`

export const historyRows: readonly HistoryRow[] = [
  // Azure, OpenAI, OpenRouter, DashScope, Zhipu, Google, Volcengine
  {
    means: 'history',
    part: 'content',
    code: /^(?:content_filter|content_policy_violation|ResponsibleAIPolicyViolation|moderation|data_inspection_failed|DataInspectionFailed|PROHIBITED_CONTENT|invalid_prompt|(?:\w+)?SensitiveContentDetected(?:\.\w+)?)$/,
  },
  row(
    'content',
    /content management policy|content exists risk|flagged (?:as|for)|requires moderation|inappropriate content|敏感内容|sensitive content|new_sensitive|output blocked by content filtering|content violates usage guidelines/i,
  ),
  { means: 'history', part: 'thinking', code: /^invalid_encrypted_content$/ },
  // Anthropic, Bedrock, Google
  row(
    'thinking',
    /thinking.{0,120}(?:signature|must start with|cannot be modified|expected)|expected.{0,20}(?:redacted_)?thinking|invalid `?signature`?|thought[_ ]signature|thinking mode.{0,80}must be passed back|reasoning_content.{0,80}(?:must|missing|required)|missing.{0,20}reasoning_content|encrypted content.{0,160}(?:verified|decrypted)|of type 'reasoning'|without its required 'reasoning' item|redacted_thinking|messages?\W{0,3}\d.{0,80}\breasoning(?:_content|_details)?\b|items are not persisted/is,
  ),
  // Mistral's template, and others of models that run on llama.cpp, Ollama, LM Studio and vLLM.
  ofTemplate(
    'order',
    /(?:jinja|raise_exception|chat template).{0,300}(?:roles? must alternate|system message must be|user query)/is,
  ),
  ofTemplate('order', /^(?:conversation )?roles must alternate/i),
  ofTemplate(
    'tools',
    /(?:jinja|raise_exception|chat template).{0,300}(?:tool[_ ]call|tool[_ ]result|role '?tool)|can only get item pairs from a mapping/is,
  ),
  // Anthropic names the place of a picture, which may be in a tool result.
  row('images', /\.image\.source\b/),
  // vLLM parses the arguments of earlier calls and shows the error of Python's parser alone.
  row(
    'tools',
    /^(?:Expecting (?:value|property name|',' delimiter|':' delimiter)|Unterminated string|Invalid (?:control character|\\escape)|Extra data)\b.*\(char \d+\)$/,
  ),
  // Mistral
  { means: 'history', part: 'tools', code: /^invalid_function_call$/ },
  // Texts of Anthropic, OpenAI, Google, Mistral, Bedrock, DeepSeek, vLLM and MiniMax about tool calls and results.
  row(
    'tools',
    /tool call result does not follow|tool_use.{0,60}(?:found without|must have|must be unique|corresponding|name|id|input)|tool_result|tool_use_id|toolresult blocks|tooluse|role '?"?tool'?"? must|'?tool_calls'? must be followed|tool_call_ids? did not|no tool (?:call|output) found|number of function (?:calls|response)|function (?:call|response) (?:turn|parts?)|same number of function calls|duplicate.{0,20}tool.{0,10}id|invalid function arguments|function\.arguments\W.{0,60}json|unexpected role '?(?:RoleEnum\.)?(?:tool|\w+'? after role '?tool)|tool_?call_?id|duplicate (?:call_ids|item found)|tool (?:use|result) blocks|tool_?result\b|tool result.{0,60}not found|tool call id.{0,40}(?:not found|duplicated)|tool message must follow|tool calls must have|either content or tool_calls, but not both/is,
  ),
  row(
    'tools',
    new RegExp(
      String.raw`${notOffered}.*(?:tool_calls?|function_call|tool call id).{0,120}(?:pattern|invalid|match|valid json|must be|expected|length)`,
      'is',
    ),
  ),
  row(
    'tools',
    new RegExp(
      String.raw`${notOffered}.*messages?.{0,12}\d.{0,60}(?:function|tool|name).{0,120}(?:pattern|does not match|valid json)`,
      'is',
    ),
  ),
  // llama.cpp and Ollama parse the arguments of earlier calls while they write the prompt, and answer 500 then.
  {
    ...row(
      'tools',
      /failed to parse tool call arguments as json|cannot unmarshal.{0,120}tool_calls\.function\.arguments|value looks like object, but can't find closing/i,
    ),
    status: [400, 500],
  },
  { ...row('images', /maximum (?:allowed )?(?:number of bytes|request size)/i), status: [413] },
  { ...row('images', /^image input is not supported/i), status: [400, 500] },
  row('images', /not a multimodal model|too much media|request payload size exceeds|empty inlineData/i),
  {
    means: 'history',
    part: 'images',
    code: /^(?:request_too_large|invalid_image(?:_\w+)?|image_parse_error)$/,
  },
  row(
    'images',
    /\bimages?\b.{0,120}(?:exceed|too (?:large|small|many)|not (?:supported|valid|allowed)|unsupported|invalid|could not|dimension|at most|media type|maximum)|(?:unsupported|invalid|too many|at most|could not process|unable to process|does not support|doesn't support|cannot (?:read|process)).{0,60}(?:images?\b|image_url|vision|multi-?modal|pictures?)|no endpoints found that support image|image_url.{0,80}(?:unknown variant|only|unsupported|not supported|expected)/is,
  ),
  row(
    'text',
    /(?:low|high|lone|unpaired) surrogate|surrogates not allowed|invalid (?:unicode|utf-?8)|not valid utf|end of hex escape|could not parse the json body of your request|null (?:byte|character)|\\u0000/i,
  ),
  row(
    'empty',
    /(?:must|should) (?:be|have) non-empty|non-whitespace text|must not be empty|cannot be empty|(?:content|text)\b.{0,60}(?:is|are) (?:empty|blank)|content field is a required|(?:contents?|parts) (?:is|are) not specified|must include at least one parts? field|empty (?:content|message|text)|trailing whitespace|at least one content element|must have a text parameter|'?content'?: expected a string, got null|invalid message content type: <nil>|content or tool_calls, but not none|elements in history must have a message|at least 1 token long/i,
  ),
  row(
    'order',
    /prefill|must end with a user|ends? with a user role|last (?:message|role)|expected last role|(?:roles|turns) must alternate|(?:must|should) alternate|requests alternate between|first message must|unexpected role|must start with a user message|assistant messages at the end of the list|only [\w, ]{4,40} roles are supported|successive user or assistant|use a valid role|invalid (?:message )?role\b|system messages? (?:must|should) be|no user query found/i,
  ),
  row(
    'message',
    /\b(?:messages?|contents?|input)['"]?(?:\s?(?:\[\d|\.\d|\d)|,\s?\d)|^messages 参数非法|failed to parse messages|cannot unmarshal.{0,80}\bmessages\b/i,
  ),
]
