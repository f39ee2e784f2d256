import { request } from 'node:http'
import { meshAgentEndpoints } from '@flotilla/protocol/mesh-agent-api'
import { describe, expect, test } from 'vitest'
import type { ScriptedAnswer } from './fake-mesh.ts'

/**
 * An agent API whose model gives these answers in order and repeats the last; null for a model that the agent
 * may not use.
 */
export type MakeAgentApi = (script: readonly ScriptedAnswer[] | null) => Promise<AgentApiUnderTest>

export interface AgentApiUnderTest {
  readonly port: number
  /** The agent's token for `Authorization: Bearer`. */
  readonly token: string
  readonly model: string
  close(): Promise<void>
}

/** The contract of the mesh's agent API for an agent process, checked on the wire. */
export function describeAgentApi(name: string, make: MakeAgentApi): void {
  const asks = async (
    script: readonly ScriptedAnswer[] | null,
    call: { readonly path?: string; readonly token?: string | null } = {},
  ): Promise<Reply> => {
    const api = await make(script)
    const token = call.token === undefined ? api.token : call.token
    try {
      const path = call.path ?? meshAgentEndpoints.chatCompletions.path
      return await post(api.port, path, {
        token,
        body: {
          model: api.model,
          messages: [{ role: 'user', content: 'hi' }],
          stream: true,
          stream_options: { include_usage: true },
        },
      })
    } finally {
      await api.close()
    }
  }

  describe(`${name} as the API of agents`, () => {
    test('a model answers in a stream of events that ends with what it cost and with its mark', async () => {
      const reply = await asks([{ text: 'good day' }])
      expect(reply.status).toBe(200)
      expect(reply.type).toContain('text/event-stream')
      const { chunks, end } = eventsOf(reply.body)
      expect(end).toBe('[DONE]')
      const choices = chunks.flatMap((chunk) => chunk.choices)
      expect(choices.map(({ delta }) => delta.content ?? '').join('')).toBe('good day')
      expect(choices.map((choice) => choice.finish_reason).filter(Boolean)).toEqual(['stop'])
      // The last chunk has the usage and no text.
      expect(chunks.at(-1)).toMatchObject({
        choices: [],
        usage: {
          prompt_tokens: expect.any(Number),
          completion_tokens: expect.any(Number),
          total_tokens: expect.any(Number),
          cost_usd: expect.any(Number),
        },
      })
    })

    test('calls of tools come with place, id, name and whole arguments, and end as calls do', async () => {
      const reply = await asks([
        {
          calls: [
            { name: 'read_file', arguments: { path: 'a' } },
            { name: 'list_files', arguments: {} },
          ],
        },
      ])
      const choices = eventsOf(reply.body).chunks.flatMap((chunk) => chunk.choices)
      const calls = choices.flatMap(({ delta }) => delta.tool_calls ?? [])
      expect(calls.map(({ index, function: { name, arguments: given } }) => [index, name, given])).toEqual([
        [0, 'read_file', '{"path":"a"}'],
        [1, 'list_files', '{}'],
      ])
      expect(new Set(calls.map(({ id }) => id)).size).toBe(2)
      expect(choices.map((choice) => choice.finish_reason).filter(Boolean)).toEqual(['tool_calls'])
    })

    test('a model that the agent may not use is refused with a problem and its code', async () => {
      const reply = await asks(null)
      expectProblem(reply, 403, 'model-not-allowed')
    })

    test.each([null, '', 'of-nobody'])(
      'a call with the token %j is rejected as unauthenticated',
      async (token) => {
        expectProblem(await asks([{ text: 'hi' }], { token }), 401, 'unauthenticated')
      },
    )

    test('what is not there is a problem too', async () => {
      expectProblem(await asks([{ text: 'hi' }], { path: '/mesh/nothing-like-this' }), 404, 'not-found')
    })
  })
}

interface Reply {
  readonly status: number
  readonly type: string
  readonly body: string
}

function post(
  port: number,
  path: string,
  { token, body }: { readonly token: string | null; readonly body: object },
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    }
    const sent = request({ host: '127.0.0.1', port, path, method: 'POST', headers }, (reply) => {
      const chunks: Buffer[] = []
      reply.on('data', (chunk: Buffer) => chunks.push(chunk))
      reply.on('end', () =>
        resolve({
          status: reply.statusCode ?? 0,
          type: reply.headers['content-type'] ?? '',
          body: Buffer.concat(chunks).toString(),
        }),
      )
    })
    sent.on('error', reject)
    sent.end(JSON.stringify(body))
  })
}

function expectProblem(reply: Reply, status: number, code: string): void {
  expect([reply.status, reply.type.split(';')[0]]).toEqual([status, 'application/problem+json'])
  expect(JSON.parse(reply.body)).toMatchObject({
    type: `urn:flotilla:problem:${code}`,
    status,
    code,
    detail: expect.any(String) as string,
  })
}

interface Chunk {
  readonly choices: readonly {
    readonly delta: {
      readonly content?: string | null
      readonly tool_calls?: readonly {
        readonly index: number
        readonly id: string
        readonly function: { readonly name: string; readonly arguments: string }
      }[]
    }
    readonly finish_reason: string | null
  }[]
  readonly usage?: unknown
}

/** The format of server-sent events: `data: ` and one line for each, with an empty line between them. */
function eventsOf(body: string): { readonly chunks: readonly Chunk[]; readonly end: string } {
  const events = body
    .split('\n\n')
    .map((event) => event.replace(/^data: /, ''))
    .filter((event) => event !== '' && !event.startsWith(':'))
  const end = events.pop() ?? ''
  return { chunks: events.map((event) => JSON.parse(event) as Chunk), end }
}
