import { meshAgentEndpoints } from '@flotilla/protocol/mesh-agent-api'
import { choice, integer, text, textMap, withDefault } from '../tools/parameters.ts'
import { defineTool, meshToolTimeoutMs, succeeded } from '../tools/tool.ts'
import type { Tool } from '../tools/tool.ts'

const replyMarginMs = 15_000

/** The tool for HTTP requests. The mesh makes them, so that it checks addresses and replaces credential handles. */
export function httpTools(): Tool[] {
  return [
    defineTool({
      name: 'http_request',
      description:
        'Fetches a public web address. `$CRED{name}` in URL, headers or body becomes the credential; vault_list names yours. Basic authorization: https://$CRED{user}:$CRED{password}@host/',
      parameters: {
        url: text('Address', { minChars: 1, maxChars: 8192 }),
        method: withDefault(choice('Method', ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']), 'GET'),
        headers: withDefault(textMap('Headers'), {}),
        body: withDefault(text('Body', { maxChars: 1_000_000 }), ''),
        timeout_ms: withDefault(integer('Longest wait', { min: 100, max: 120_000 }), 30_000),
      },
      effect: 'mesh',
      parallelSafe: ({ method = 'GET' }) => method === 'GET' || method === 'HEAD',
      timeoutMs: meshToolTimeoutMs,
      run: async (values, context) => {
        const reply = await context.mesh.call({
          endpoint: meshAgentEndpoints.httpRequest,
          body: values,
          idempotencyKey: context.idempotencyKey,
          timeoutMs: values.timeout_ms + replyMarginMs,
          signal: context.signal,
        })
        return succeeded(reply)
      },
    }),
  ]
}
