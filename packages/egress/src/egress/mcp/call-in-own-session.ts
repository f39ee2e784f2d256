import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { jsonLimits } from '@flotilla/protocol/limits'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'
import { readJsonAsWritten } from '@flotilla/foundation/intake'
import type { StreamedReply } from './exchange-with-server.ts'

/** The version of MCP that the mesh asks a server for; servers may answer with an older one. */
const protocolVersion = '2025-06-18'
/** The maximum size of the answer to one message, in bytes. */
const answerMaxBytes = 1024 * 1024
/** How much of the result the agent is called again with, in characters. */
const shownMaxChars = 1500

interface Message {
  readonly method: 'POST' | 'DELETE'
  readonly headers: Record<string, string>
  readonly body: string
  /** Called right before the first byte leaves. */
  readonly onLeaving?: () => void
}

/** Sends one HTTP request to the server. */
export type SendMessage = (message: Message) => Promise<StreamedReply>

/**
 * Calls a tool of an MCP server in a session that the mesh opens for this call: the session of the agent may have
 * ended while a person was asked. Returns the result as text. Problem `upstream-failed`, before or after `on.leaving`.
 * Whether the server ends the session afterwards changes nothing about the call: `on.unended` gets the error.
 */
export async function callInOwnSession(
  send: SendMessage,
  call: JsonObject,
  on: { readonly leaving: () => void; readonly unended: (error: unknown) => void },
): Promise<{ readonly text: string; readonly isError: boolean }> {
  const opened = await request(send, { id: 1, method: 'initialize', params: initialization })
  const headers: Record<string, string> = {
    'mcp-protocol-version': versionOf(opened.result),
    ...(opened.session === undefined ? {} : { 'mcp-session-id': opened.session }),
  }
  try {
    const ready = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })
    await readText(await send({ method: 'POST', headers: { ...asJson, ...headers }, body: ready }))
    const asked = { id: 2, method: 'tools/call', params: call }
    const { result } = await request(send, asked, { headers, onLeaving: on.leaving })
    return resultText(result)
  } finally {
    if (opened.session !== undefined)
      await send({ method: 'DELETE', headers, body: '' }).then(readText).catch(on.unended)
  }
}

const initialization: JsonObject = {
  protocolVersion,
  capabilities: {},
  clientInfo: { name: 'flotilla', version: '1' },
}
const asJson = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' } as const

async function request(
  send: SendMessage,
  message: { readonly id: number; readonly method: string; readonly params: JsonObject },
  { headers = {}, ...line }: Partial<Pick<Message, 'headers' | 'onLeaving'>> = {},
): Promise<{ readonly result: JsonObject; readonly session: string | undefined }> {
  const body = JSON.stringify({ jsonrpc: '2.0', ...message })
  const reply = await send({ method: 'POST', headers: { ...asJson, ...headers }, body, ...line })
  const text = await readText(reply)
  const isEvents = /^text\/event-stream\b/i.test(reply.headers['content-type'] ?? '')
  const answer = (isEvents ? eventsOf(text) : [text])
    .map(messageIn)
    .find((one) => isJsonObject(one) && one['id'] === message.id)
  if (isJsonObject(answer) && isJsonObject(answer['result']))
    return { result: answer['result'], session: reply.headers['mcp-session-id'] }
  const error = isJsonObject(answer) && isJsonObject(answer['error']) ? answer['error']['message'] : undefined
  const reason = typeof error === 'string' ? `: ${error.slice(0, shownMaxChars)}` : ''
  throw new Problem('upstream-failed', {
    detail: `the MCP server answered ${message.method} with status ${reply.status}${reason}`,
  })
}

/** A message with its numbers as the server wrote them; null for other text. */
function messageIn(text: string): unknown {
  try {
    return readJsonAsWritten(text, jsonLimits.body)
  } catch {
    return null
  }
}

async function readText(reply: StreamedReply): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for await (const chunk of reply.body) {
    bytes += chunk.length
    if (bytes > answerMaxBytes) break
    text += decoder.decode(chunk, { stream: true })
  }
  return text
}

/** The data of server-sent events. */
function eventsOf(text: string): readonly string[] {
  return text.split(/\r?\n\r?\n|\r\r/).map((event) =>
    event
      .split(/\r\n|\n|\r/)
      .filter((line) => line.startsWith('data:'))
      .map((line) => line.slice('data:'.length).trimStart())
      .join('\n'),
  )
}

function versionOf({ protocolVersion: given }: JsonObject): string {
  return typeof given === 'string' && /^[0-9-]{1,20}$/.test(given) ? given : protocolVersion
}

function resultText(result: JsonObject): { readonly text: string; readonly isError: boolean } {
  const content: readonly unknown[] = Array.isArray(result['content']) ? result['content'] : []
  const texts = content.flatMap((part) =>
    isJsonObject(part) && typeof part['text'] === 'string' ? [part['text']] : [],
  )
  const whole = texts.length > 0 ? texts.join('\n') : JSON.stringify(result['structuredContent'] ?? content)
  const text = whole.length > shownMaxChars ? `${whole.slice(0, shownMaxChars)} …` : whole
  return { text, isError: result['isError'] === true }
}
