import { historyRows } from './history-rows.ts'
import type { HistoryPart } from './history-rows.ts'

/** What a refusal means for the next step: a retry is useless for the first six; the last three end soon. */
export type RefusalMeaning =
  /** The account has no credit, or its billing is off: the owner pays or sets another model. */
  | 'credit'
  /** A quota of hours, days or months is used up: it renews itself, or the owner raises it. */
  | 'quota'
  /** The key is wrong, expired or disabled: no model can be called with it. */
  | 'key'
  /** The key is valid but may not use this model, or not from this place. */
  | 'access'
  /** No such model or deployment. */
  | 'model'
  /** Something in the conversation is rejected; `part` says what. */
  | 'history'
  /** This request alone exceeds what the account may send per minute. */
  | 'too-large'
  | 'too-long'
  /** Too many requests for now. */
  | 'rate'
  /** The provider is overloaded for now. */
  | 'overloaded'
  /** The provider could not read what its own model wrote; another try often succeeds. */
  | 'output'

export interface RefusalRow {
  readonly means: RefusalMeaning
  readonly part?: HistoryPart
  /** The statuses of the reply that match; all if omitted. */
  readonly status?: readonly number[]
  /** Matches the provider's name or host, for codes that other providers use in another sense. */
  readonly at?: RegExp
  /** Must match one whole code, type, status or reason in the body. */
  readonly code?: RegExp
  /** Must match somewhere in the message. With `code`, both must match. */
  readonly says?: RegExp
  /** Must match the whole message that the provider's own host writes; no text of a caller can produce it. */
  readonly whole?: { readonly host: string; readonly text: RegExp }
  /** True if the refusal depends on the size of this request, so that other requests may pass. */
  readonly isOfCall?: true
}

const dashscope = /dashscope|aliyuncs|alibaba|bailian/i
const minimax = /minimax/i
const zhipu = /zhipu|bigmodel|z\.ai|glm/i
/** Google's code for every quota, per minute or per day. */
const googleExhausted = /^RESOURCE_EXHAUSTED$/
const callErrors = [400, 401, 403, 404, 409, 410, 412, 413, 422] as const

/** Long quotas; these rows come before the rate limit rows with the same code. */
const quotaRows: readonly RefusalRow[] = [
  // Google: QuotaFailure names the quota; the message is the same for minute and day.
  { means: 'quota', code: /^.*PerDay.*$/ },
  { means: 'quota', code: googleExhausted, says: /\blimit: 0\b/ },
  {
    means: 'credit',
    code: googleExhausted,
    says: /prepa|credits? .{0,40}depleted|spend(?:ing)? (?:cap|limit)/i,
  },
  { means: 'quota', code: googleExhausted, says: /quota will reset after \d+h/i },
  { means: 'rate', code: googleExhausted },
  // DashScope uses `insufficient_quota`, OpenAI's code for no credit, also for limits per minute.
  { means: 'quota', code: /^(?:AllocationQuota\.FreeTierOnly)$/ },
  { means: 'rate', at: dashscope, status: [429], code: /^(?:insufficient_quota|Throttling(?:\..+)?)$/ },
  // Bedrock
  { means: 'quota', says: /too many tokens per (?:day|month)/i },
  { means: 'quota', code: /^ServiceQuotaExceededException$/ },
  // OpenRouter, Cohere, Anthropic
  { means: 'quota', says: /free-models-per-day/i },
  { means: 'quota', says: /trial key.{0,80}limited to.{0,60}month/is },
  { means: 'quota', says: /reached your specified api usage limits/i },
  { means: 'quota', says: /daily request limit reached/i },
  // Messages about Cloudflare's daily allocation and about the time windows of MiniMax's plans.
  { means: 'quota', says: /daily free allocation|usage limit exceeded, .{0,40}(?:hour|week|month)/i },
  // Kimi, GitHub Copilot, Codex, Claude's plans, LiteLLM's budgets and OpenRouter's limits of a key.
  { means: 'quota', code: /^(?:quota_exceeded|usage_limit_reached|budget_exceeded|SetLimitExceeded)$/ },
  {
    means: 'quota',
    status: [400, 402, 403, 429],
    says: /(?:monthly|weekly|daily|\d+-hour) (?:usage )?limit (?:for this|has been reached|\(|\. )|(?:monthly|weekly|daily|\d+-hour) usage limit|key limit exceeded|premium request allowance|budget has been exceeded|extra usage, not your plan limits/i,
  },
  // Zhipu's codes for its limit of calls per day and for the time windows of its plans.
  { means: 'quota', code: /^13(?:04|08|09|10)$/, says: /上限|limit|到期|expired/i },
]

/**
 * Refusals with status 400 that name no code. Each message is fixed, and the provider never begins one with a
 * quote.
 */
const wholeRows: readonly RefusalRow[] = [
  {
    means: 'credit',
    status: [400],
    whole: {
      host: 'api.anthropic.com',
      text: /^Your credit balance is too low to access the (?:Anthropic|Claude) API\. Please go to Plans & Billing to upgrade or purchase credits\.$/,
    },
  },
  {
    means: 'quota',
    status: [400],
    whole: {
      host: 'api.anthropic.com',
      text: /^You have reached your specified API usage limits\. You will regain access on \d{4}-\d{2}-\d{2} at \d{2}:\d{2} UTC\.$/,
    },
  },
  {
    means: 'key',
    status: [400],
    whole: { host: 'api.anthropic.com', text: /^This organization has been disabled\.$/ },
  },
  {
    means: 'access',
    status: [400],
    whole: {
      host: 'generativelanguage.googleapis.com',
      text: /^User location is not supported for the API use\.$/,
    },
  },
]

/** LiteLLM answers 401 for a valid key that may call other models. */
const otherModelsRow: RefusalRow = { means: 'access', code: /^(?:key|team|user|org)_model_access_denied$/ }

const accountRows: readonly RefusalRow[] = [
  // OpenRouter: the account cannot pay for the requested output.
  {
    means: 'credit',
    says: /or fewer max_tokens|can only afford|prompt tokens limit exceeded/i,
    isOfCall: true,
  },
  // MiniMax has codes of its own in answers with status 200.
  { means: 'credit', at: minimax, code: /^1008$/ },
  { means: 'key', at: minimax, code: /^(?:1004|2049)$/ },
  { means: 'rate', at: minimax, code: /^(?:1002|1039)$/ },
  // Codes of OpenAI and compatible providers, Moonshot, DashScope, Zhipu, Anthropic and Together.
  {
    means: 'credit',
    code: /^(?:insufficient_(?:user_)?quota|pre_consume_token_quota_failed|billing_not_active|billing_(?:hard_)?limit_reached|spend_limit_exceeded|credit_balance_exhausted|(?:organization|project)_(?:spend|usage)_limit_exceeded|exceeded_current_quota_error|insufficient_(?:balance|credits?|funds)|billing_error|payment_required|credit_limit(?:_exceeded)?|Arrearage|AccountOverdueError|1113)$/i,
  },
  {
    means: 'credit',
    says: /credit balance is too low|insufficient (?:account )?balance|balance is insufficient|payment method or top up|insufficient (?:credits?|funds)|out of credits?|used all available credits|monthly spend(?:ing)? limit|(?:doesn't|does not) have any credits|more credits|credit limit exceeded|account is not active.{0,40}billing|(?:enable|activate|set up) billing|billing (?:is|has been) (?:disabled|not (?:enabled|active))|余额不足|额度不足|欠费|overdue (?:payment|balance)|in good standing|failure to pay|past invoices|invalid_payment_instrument|valid payment instrument/i,
  },
  // Google uses these words for limits per minute too; its codes have rows above.
  { means: 'credit', says: /exceeded your current quota.{0,40}billing details/i },
  { means: 'credit', status: [402] },
  {
    means: 'key',
    code: /^(?:invalid_api_key|incorrect_api_key|API_KEY_INVALID|API_KEY_EXPIRED|InvalidApiKey|account_deactivated|authentication_error|invalid_authentication_error|UnrecognizedClientException|InvalidSignatureException|ExpiredTokenException|ExpiredToken|IncompleteSignatureException)$/,
  },
  {
    means: 'key',
    // Status 0 means an error in a body with status 200.
    status: [0, 400, 401, 403],
    says: /login fail|api key (?:is )?(?:not valid|invalid|expired|not found|disabled)|(?:incorrect|invalid|wrong|disabled|revoked) api key|api key (?:was|has been) (?:reported as leaked|revoked|disabled)|(?:account|organization|organisation|project) (?:has been|is|was) (?:deactivated|disabled|suspended|blocked)|subscription key or wrong api endpoint|security token included in the request is (?:invalid|expired)|consumer .{0,80}has been suspended/i,
  },
  { means: 'key', status: [401] },
  // Status 403 alone is not enough in these rows: OpenRouter's moderation uses it too.
  {
    means: 'access',
    code: /^(?:permission_error|permission-denied|PERMISSION_DENIED|SERVICE_DISABLED|AccessDeniedException|unsupported_country_region_territory|access_denied|AccessDenied(?:\..+)?|Model\.AccessDenied|ModelNotOpen|organization_restricted|model_terms_required)$/,
  },
  {
    means: 'access',
    says: /location is not supported|(?:country|region).{0,40}not supported|don't have access to the model|not authorized to (?:perform|invoke)|must be verified to|use case details have not been submitted|matching your data policy/i,
  },
]

const modelRows: readonly RefusalRow[] = [
  {
    means: 'model',
    code: /^(?:model_not_found|model_not_available|model_decommissioned|DeploymentNotFound|ModelNotFound|invalid_model|unknown_model)$/,
  },
  {
    means: 'model',
    status: [400, 403, 404, 410, 422],
    says: /model.{0,120}(?:not found|does not exist|doesn't exist|is not available|is not a valid|has been (?:deprecated|retired|decommissioned|shut ?down|removed)|has reached (?:the )?end of (?:its )?life|is not deployed)|(?:try pulling it|not a valid model id|no endpoints found (?:for|that support tool)|no such model|unknown model|模型不存在|invalid model[:\s]|deployment .{0,80}does not exist|model '.{0,120}' is not supported by any provider|no allowed providers are available|does not work with the specified model|on-demand throughput isn.t supported)/is,
  },
]

const sizeRows: readonly RefusalRow[] = [
  // OpenAI (429) and Groq (413): the request alone exceeds the limit per minute.
  { means: 'too-large', says: /request too large.{0,300}(?:tokens per|\(TPM\))/is },
  // A call id or a tool name that is too long.
  {
    means: 'history',
    part: 'tools',
    code: /^string_above_max_length$/,
    says: /^invalid '[^']*\b(?:tool_calls|call_id|tool_call_id|id|name)\b[^']*'/i,
  },
  // GitHub's models use `tokens_limit_reached`.
  { means: 'too-long', code: /^(?:context_length_exceeded|string_above_max_length|tokens_limit_reached)$/ },
  // Claude's plans do not include long prompts.
  { means: 'too-long', status: [400, 429], says: /required for long context requests/i },
  // Zhipu, DashScope
  { means: 'too-long', says: /prompt 超长|range of input length should be/i },
]

const passingRows: readonly RefusalRow[] = [
  // Groq, Cerebras and Bedrock: the model's call or JSON does not fit the tools or the schema.
  {
    means: 'output',
    code: /^(?:tool_use_failed|json_validate_failed|output_parse_failed|failed_generation|ModelErrorException|ModelStreamErrorException)$/,
  },
  {
    means: 'overloaded',
    code: /^(?:overloaded_error|engine_overloaded_error|ModelNotReadyException|ServiceUnavailableException|UNAVAILABLE|NoCapacity|1305)$/,
  },
  { means: 'overloaded', status: [529] },
  {
    means: 'overloaded',
    says: /\boverloaded\b|capacity (?:temporarily )?exceeded|at capacity|no capacity available|service is too busy|is currently loading/i,
  },
  {
    means: 'rate',
    code: /^(?:rate_limit_exceeded|rate_limit_error|rate_limit_reached_error|rate_limited|too_many_requests|slow_down|REQUEST_LIMIT_EXCEEDED|ThrottlingException|TooManyRequestsException|Throttling(?:\..+)?)$/,
  },
  { means: 'rate', at: zhipu, code: /^130[23]$/ },
  { means: 'rate', status: [429] },
  { means: 'rate', status: [0], says: /rate limit exceeded|too many requests|qps request limit/i },
  // A firewall or a proxy of a company sends these statuses too.
  { means: 'access', status: [403, 407, 451] },
]

/**
 * All known refusals, in the order of checks; the first match counts. Each row follows the provider's documentation
 * or reports of its users: OpenAI's and Azure's error codes, Anthropic's errors, Google's status codes and quota
 * details, DeepSeek, OpenRouter, Mistral, Groq, Bedrock, Together, Fireworks, Moonshot, Zhipu, DashScope, xAI, Cohere
 * and Ollama. `refusal-table.test.ts` contains their bodies.
 */
export const refusalRows: readonly RefusalRow[] = [
  ...wholeRows,
  otherModelsRow,
  ...quotaRows,
  ...passingRows.filter(({ means }) => means === 'output'),
  ...historyRows.filter(({ part }) => part === 'content'),
  ...accountRows.filter(({ means }) => means !== 'access'),
  ...sizeRows,
  ...modelRows,
  ...historyRows
    .filter(({ part }) => part !== 'content')
    .map((row) => ({ ...row, status: row.status ?? callErrors })),
  ...accountRows.filter(({ means }) => means === 'access'),
  ...passingRows.filter(({ means }) => means !== 'output'),
]
