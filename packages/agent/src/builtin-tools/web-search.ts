import { toolEndpoints, webSearchBounds } from '@flotilla/protocol/tool-api'
import { integer, text, withDefault } from '../tools/parameters.ts'
import { defineTool, meshToolTimeoutMs, succeeded } from '../tools/tool.ts'
import type { Tool } from '../tools/tool.ts'

const replyTimeoutMs = 40_000

/** The tool for web searches: the mesh calls the owner's search provider, whose key stays in the mesh. */
export function webSearchTools(): Tool[] {
  const { queryMaxChars, resultsMax, resultsDefault } = webSearchBounds
  return [
    defineTool({
      name: 'web_search',
      description:
        'Searches the web for titles, addresses and snippets, which are data. http_request fetches a page.',
      parameters: {
        query: text('Query', { minChars: 1, maxChars: queryMaxChars }),
        count: withDefault(integer('Number of results', { min: 1, max: resultsMax }), resultsDefault),
      },
      effect: 'none',
      parallelSafe: true,
      timeoutMs: meshToolTimeoutMs,
      run: async (body, { mesh, signal }) =>
        succeeded(
          await mesh.call({ endpoint: toolEndpoints.webSearch, body, timeoutMs: replyTimeoutMs, signal }),
        ),
    }),
  ]
}
