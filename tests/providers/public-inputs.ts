/** A public bug report whose answer of a provider a row of the tables plays. */
export interface PublicInput {
  readonly kind: (typeof inputKinds)[number]
  readonly report: string
  /** The `what` of the row. */
  readonly row: string
}

export const inputKinds = [
  'calls',
  'ids',
  'streams',
  'ends',
  'usage',
  'refusals',
  'errors in a 200',
  'thinking',
] as const

/**
 * Public bug reports of people who use providers, gateways and agent frameworks, each with the row that plays what
 * they received. A row runs through both surfaces of the gateway and the loop of an agent.
 */
export const publicInputs: readonly PublicInput[] = (
  [
    [
      'calls',
      'https://github.com/BerriAI/litellm/issues/12513',
      'later pieces of a call have the text null as its name',
    ],
    [
      'calls',
      'https://github.com/SillyTavern/SillyTavern/pull/5948',
      'each piece has id, type and name again, and a name of null beside them',
    ],
    [
      'calls',
      'https://github.com/QuantumNous/new-api/issues/3326',
      'a last piece has null in place of arguments and name',
    ],
    [
      'calls',
      'https://github.com/vllm-project/vllm/issues/44098',
      'the last piece has the end of the arguments, the id, the name and the reason',
    ],
    [
      'calls',
      'https://github.com/vllm-project/vllm-ascend/issues/8327',
      'the last bracket comes with the reason',
    ],
    [
      'calls',
      'https://github.com/Soju06/codex-lb/issues/284',
      'the arguments of a whole answer are written three times',
    ],
    [
      'calls',
      'https://github.com/dyedd/lens/issues/49',
      'the arguments of the second call come under the index of the first',
    ],
    [
      'calls',
      'https://github.com/danny-avila/LibreChat/issues/13987',
      'the id of a call comes under one index and its arguments come under another',
    ],
    [
      'calls',
      'https://github.com/agno-agi/agno/pull/8880',
      'the second call begins under the index of the first and goes on under its own',
    ],
    [
      'calls',
      'https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/649',
      'names are empty and arguments come word by word',
    ],
    [
      'calls',
      'https://github.com/QwenLM/qwen-code/issues/6249',
      'the call has no arguments at all and the reason comes with it',
    ],
    [
      'calls',
      'https://github.com/UKGovernmentBEIS/inspect_ai/issues/4822',
      'two quotes stand behind the arguments',
    ],
    [
      'calls',
      'https://github.com/ggml-org/llama.cpp/issues/22072',
      'the arguments have a zero character behind them',
    ],
    [
      'calls',
      'https://github.com/NousResearch/hermes-agent/issues/24534',
      'the marks of Kimi for a call stand in the words',
    ],
    [
      'calls',
      'https://github.com/huggingface/smolagents/pull/1958',
      'parallel calls all have the index 0 and ids of their own',
    ],
    [
      'calls',
      'https://github.com/su-kaka/gcli2api/pull/406',
      'parallel calls all have the index 0, ids, and arguments in pieces',
    ],
    [
      'calls',
      'https://github.com/mcowger/plexus/issues/691',
      'parallel calls share one index and one id, with one object behind the other',
    ],
    ['calls', 'https://github.com/vercel/ai/pull/17777', 'the name begins with a dollar sign'],
    ['ids', 'https://github.com/AstrBotDevs/AstrBot/pull/7735', 'the id has 86 characters and a bar'],
    ['ids', 'https://github.com/Effect-TS/effect/pull/8333', 'roles and ids of later pieces are null'],
    [
      'ids',
      'https://github.com/BerriAI/litellm/pull/40040',
      'each piece of a call has an id of its own and an empty name, and the reason is stop',
    ],
    ['streams', 'https://github.com/earendil-works/pi/pull/2466', 'an event is null'],
    [
      'streams',
      'https://github.com/danny-avila/LibreChat/issues/4820',
      'events stand behind each other without a line end',
    ],
    [
      'streams',
      'https://github.com/vercel/ai/issues/18331',
      'a second answer begins behind half of the first',
    ],
    [
      'streams',
      'https://github.com/MoonshotAI/Kimi-K2.5/issues/33',
      'the start of the message comes five times',
    ],
    [
      'streams',
      'https://github.com/QuantumNous/new-api/issues/5870',
      'the stream ends behind words, with no end of the message',
    ],
    [
      'streams',
      'https://github.com/openclaw/openclaw/pull/98575',
      'the stream of a call has a mark of the end and no reason',
    ],
    [
      'streams',
      'https://github.com/ericc-ch/copilot-api/pull/110',
      'the words stand in one choice and the calls in a second choice without an index',
    ],
    ['streams', 'https://github.com/Wei-Shaw/sub2api/issues/1471', 'two objects stand in one data line'],
    ['streams', 'https://github.com/QwenLM/qwen-code/pull/3896', 'each piece has all words so far'],
    ['streams', 'https://github.com/tashfeenahmed/freellmapi/pull/1007', 'each event has all words so far'],
    ['ends', 'https://github.com/su-kaka/gcli2api/issues/403', 'every event says stop, also before the call'],
    [
      'ends',
      'https://github.com/BerriAI/litellm/pull/31634',
      'the reason tool_calls comes with the first call and the second call comes behind it',
    ],
    [
      'ends',
      'https://github.com/mozilla-ai/any-llm/pull/1202',
      'the reasons are those of Google in capital letters',
    ],
    [
      'ends',
      'https://github.com/jakobdylanc/llmcord/issues/84',
      'the reason is null and only finishReason is filled',
    ],
    ['ends', 'https://github.com/BerriAI/litellm/pull/27101', 'the server ends a repetition'],
    [
      'ends',
      'https://github.com/earendil-works/pi/pull/1868',
      'the window of the model is exceeded behind the words',
    ],
    [
      'ends',
      'https://github.com/BerriAI/litellm/issues/35663',
      'the reason is stop although a tool is called',
    ],
    [
      'usage',
      'https://github.com/rashidrazak/opencode-cmd-provider/pull/213',
      'the usage comes with every event and begins at zero',
    ],
    [
      'usage',
      'https://github.com/sgl-project/sglang/issues/20678',
      'the usage is zero at the start and told at the end',
    ],
    ['usage', 'https://github.com/zed-industries/zed/pull/62983', 'the tokens written to a cache are null'],
    [
      'usage',
      'https://github.com/lemma-work/lemma-platform/pull/564',
      'counts of the usage are beyond belief',
    ],
    [
      'refusals',
      'https://github.com/langchain-ai/langchain/issues/39747',
      'a refusal comes in pieces and the reason is stop',
    ],
    [
      'refusals',
      'https://github.com/BerriAI/litellm/issues/1564',
      'the words of a filter come as an error of the filter itself',
    ],
    ['refusals', 'https://github.com/BerriAI/litellm/pull/24373', 'the answer is sensitive'],
    [
      'errors in a 200',
      'https://github.com/diegosouzapw/OmniRoute/pull/8210',
      'the workers of a provider are full, told beside empty choices',
    ],
    [
      'errors in a 200',
      'https://github.com/CommandCodeAI/command-code/issues/785',
      'a server error of a gateway says success false',
    ],
    [
      'errors in a 200',
      'https://github.com/genkit-ai/genkit/pull/6259',
      'an error stands in a choice and its reason is error',
    ],
    [
      'errors in a 200',
      'https://github.com/tensorzero/tensorzero/pull/1893',
      'an error of Groq has a failed generation and a status beside it',
    ],
    [
      'errors in a 200',
      'https://github.com/sgl-project/sglang/issues/12081',
      'the prompt is too long for SGLang, with status 200',
    ],
    [
      'errors in a 200',
      'https://github.com/lbjlaq/Antigravity-Manager/issues/654',
      'the message of an error is the error of another provider as JSON',
    ],
    [
      'errors in a 200',
      'https://github.com/apache/rocketmq-dashboard/issues/2178',
      'an error stands in the stream as an object',
    ],
    [
      'errors in a 200',
      'https://github.com/farzaa/clicky/issues/132',
      'an error of the Messages API comes in a chat',
    ],
    [
      'thinking',
      'https://github.com/envoyproxy/ai-gateway/issues/2318',
      'thinking is an object with a text and a signature',
    ],
    [
      'thinking',
      'https://github.com/open-webui/computer/issues/224',
      'the signature of a call comes in an event of its own, under the name of Vertex',
    ],
    [
      'thinking',
      'https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/2013',
      'the thinking of Gemma 4 stands in its channel',
    ],
  ] as const
).map(([kind, report, row]) => ({ kind, report, row }))
