import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { solanaChains } from '@flotilla/protocol/wallet-api'
import { rpcMethods, RpcRefusal } from './rpc-methods.ts'
import { createTestChain } from './test-chain.ts'
import type { TestChain } from './test-chain.ts'

/** What the server does instead of answering one method. */
export type Disturbance =
  /** Nothing, ever. */
  | { readonly kind: 'hangs' }
  /** Executes the method, and answers with an error. */
  | { readonly kind: 'denies' }
  | { readonly kind: 'refuses' }
  /** Sends the whole answer twice. */
  | { readonly kind: 'answers-twice' }
  | { readonly kind: 'says'; readonly result: unknown }

export interface SolanaServer {
  readonly url: string
  /** Address as `host:port`, the form that settings use. */
  readonly place: string
  readonly chain: TestChain
  /** Every called method, in order. */
  readonly asked: readonly string[]
  /** Applies the disturbance from now on; null removes it. */
  disturb(method: string, disturbance: Disturbance | null): void
  close(): Promise<void>
}

interface Question {
  readonly id: unknown
  readonly method: string
  readonly params?: readonly unknown[]
}

/** Solana's JSON-RPC on a free loopback port, backed by the virtual machine in this process. */
export async function startSolana(
  genesis: string = solanaChains['solana-devnet'].genesis,
): Promise<SolanaServer> {
  const chain = createTestChain()
  const methods = rpcMethods(chain, genesis)
  const requests: string[] = []
  const disturbances = new Map<string, Disturbance>()

  function result({ method, params = [] }: Question): unknown {
    const call = methods[method]
    if (call === undefined) throw new RpcRefusal(-32_601, `Method not found: ${method}`)
    return call(params)
  }

  function answerOf(question: Question): unknown {
    const about = { jsonrpc: '2.0', id: question.id }
    const disturbance = disturbances.get(question.method)
    try {
      if (disturbance?.kind === 'says') return { ...about, result: disturbance.result }
      if (disturbance?.kind === 'refuses') throw new RpcRefusal(-32_005, 'Node is behind by 150 slots')
      const said = result(question)
      if (disturbance?.kind === 'denies') throw new RpcRefusal(-32_603, 'Internal error')
      return { ...about, result: said }
    } catch (error) {
      const { code, message } = error instanceof RpcRefusal ? error : new RpcRefusal(-32_603, String(error))
      return { ...about, error: { code, message } }
    }
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = JSON.parse(await text(request)) as Question | readonly Question[]
    const questions = 'method' in body ? [body] : body
    requests.push(...questions.map(({ method }) => method))
    const kinds = questions.map(({ method }) => disturbances.get(method)?.kind)
    if (kinds.includes('hangs')) return
    const answers = questions.map(answerOf)
    const said = withWholeNumbers('method' in body ? answers[0] : answers)
    response.setHeader('content-type', 'application/json')
    response.end(kinds.includes('answers-twice') ? said + said : said)
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const place = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: `http://${place}`,
    place,
    chain,
    asked: requests,
    disturb(method, disturbance) {
      if (disturbance === null) disturbances.delete(method)
      else disturbances.set(method, disturbance)
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** 64-bit integers are written digit by digit, as validators do. */
function withWholeNumbers(value: unknown): string {
  const marked = JSON.stringify(value, (_name, inner: unknown) =>
    typeof inner === 'bigint' ? `\u0001${inner}` : inner,
  )
  return marked.replaceAll(/"\\u0001(\d+)"/g, '$1')
}
