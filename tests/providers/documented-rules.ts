import type { JsonObject } from '@flotilla/protocol/json-value'

/** Rules for messages that a provider documents, or that its users report. */
interface DocumentedRules {
  readonly id: RegExp
  /** Members of an assistant message that the provider accepts. */
  readonly members: readonly string[]
  readonly needsThinking?: boolean
  readonly needsSeal?: boolean
  /** "Unexpected role 'user' after role 'tool'", code 3230. */
  readonly answersResults?: boolean
}

const chat = ['role', 'content', 'tool_calls', 'refusal', 'name']
const openAiId = /^.{1,40}$/

/** Strict: a member that is not listed here is a fault. */
const documented: Readonly<Record<string, DocumentedRules>> = {
  openai: { id: openAiId, members: chat },
  groq: { id: openAiId, members: chat },
  mistral: { id: /^[a-zA-Z0-9]{9}$/, members: chat, answersResults: true },
  deepseek: { id: openAiId, members: [...chat, 'reasoning_content'], needsThinking: true },
  kimi: {
    id: /^functions\.[a-zA-Z0-9_-]{1,64}:\d+$/,
    members: [...chat, 'reasoning_content'],
    needsThinking: true,
  },
  gemini: { id: openAiId, members: chat, needsSeal: true },
  openrouter: { id: openAiId, members: [...chat, 'reasoning_details'] },
  vllm: { id: openAiId, members: [...chat, 'reasoning_content'] },
  anthropic: { id: /^[a-zA-Z0-9_-]{1,64}$/, members: [...chat, 'reasoning_details'] },
}

interface Call {
  readonly id: string
  readonly type: string
  readonly function: { readonly name: string; readonly arguments: string }
  readonly extra_content?: { readonly google?: { readonly thought_signature?: string } }
}

/** Returns why this provider would refuse the conversation; empty if it would accept it. */
export function documentedFaults(messages: readonly JsonObject[], provider: string): readonly string[] {
  const rules = documented[provider]
  if (rules === undefined) throw new Error(`no rules are written down for ${provider}`)
  const faults: string[] = []
  const seen = new Set<string>()
  let open: string[] = []
  if (!isWellFormed(messages)) faults.push('half a surrogate pair')
  for (const [index, message] of messages.entries()) {
    const { role, content } = message
    // A blank part is refused, so a message of parts counts as empty if one of its parts is.
    const texts = ((Array.isArray(content) ? content : []) as { text?: string }[]).map(
      (part) => part.text ?? '',
    )
    const words =
      typeof content === 'string' ? content : texts.every((text) => text.trim() !== '') ? texts.join('') : ''
    if (role === 'tool') {
      const id = JSON.stringify(message['tool_call_id'])
      if (JSON.stringify(open[0]) !== id)
        faults.push(`message ${index}: result of ${id}, expected ${open[0] ?? 'none'}`)
      open = open.slice(1)
      if (content === '' || typeof content !== 'string') faults.push(`message ${index}: empty result`)
      continue
    }
    if (open.length > 0) faults.push(`message ${index}: ${open.length} calls have no result`)
    open = []
    if (rules.answersResults && role === 'user' && messages[index - 1]?.['role'] === 'tool')
      faults.push(`message ${index}: user behind results`)
    if (role === 'user' && words.trim() === '') faults.push(`message ${index}: empty content`)
    if (role !== 'assistant') continue
    const calls = (message['tool_calls'] ?? []) as unknown as readonly Call[]
    if ('tool_calls' in message && calls.length === 0) faults.push(`message ${index}: empty tool_calls`)
    if (calls.length === 0 && words.trim() === '') faults.push(`message ${index}: neither words nor calls`)
    for (const name of Object.keys(message))
      if (!rules.members.includes(name)) faults.push(`message ${index}: ${name}`)
    if (calls.length > 0 && rules.needsThinking && !message['reasoning_content'])
      faults.push(`message ${index}: no thinking`)
    const hasSeal = calls.some((call) => call.extra_content?.google?.thought_signature)
    if (calls.length > 0 && rules.needsSeal && !hasSeal) faults.push(`message ${index}: no seal`)
    for (const call of calls) {
      faults.push(...callFaults(call, rules).map((fault) => `message ${index}: ${fault}`))
      if (seen.has(call.id)) faults.push(`message ${index}: id ${call.id} again`)
      seen.add(call.id)
      open.push(call.id)
    }
  }
  if (open.length > 0) faults.push('the last calls have no result')
  return faults
}

function callFaults(call: Call, rules: DocumentedRules): readonly string[] {
  const faults: string[] = []
  if (!rules.id.test(call.id)) faults.push(`id ${call.id}`)
  if (call.type !== 'function') faults.push('type')
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(call.function.name)) faults.push(`name ${call.function.name}`)
  if (call.extra_content !== undefined && rules.needsSeal !== true) faults.push('extra_content')
  try {
    const value: unknown = JSON.parse(call.function.arguments)
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      faults.push('arguments are no object')
    else if (!isWellFormed(value)) faults.push('half a pair in the arguments')
  } catch {
    faults.push('arguments are no JSON')
  }
  return faults
}

/** True if no text in the value has half of a surrogate pair. */
function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  return typeof value !== 'object' || value === null || Object.values(value).every(isWellFormed)
}
