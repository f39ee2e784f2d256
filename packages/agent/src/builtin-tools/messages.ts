import { wireLimits } from '@flotilla/protocol/limits'
import { meshAgentEndpoints } from '@flotilla/protocol/mesh-agent-api'
import { Problem } from '@flotilla/protocol/problem'
import type { DataFiles } from '../files/data-files.ts'
import { flag, optional, text, withDefault } from '../tools/parameters.ts'
import { defineTool, meshToolTimeoutMs, succeeded } from '../tools/tool.ts'
import type { Tool } from '../tools/tool.ts'

/** Tools that send something from the container to the owner: notes, and files to keep. */
export function messageTools(deps: { files: DataFiles }): Tool[] {
  return [
    defineTool({
      name: 'notify_user',
      description: 'Sends the owner a message that cannot wait for your answer.',
      parameters: { message: text('The message', { minChars: 1, maxChars: wireLimits.notifyMaxChars }) },
      effect: 'mesh',
      timeoutMs: meshToolTimeoutMs,
      run: async (body, { mesh, signal, idempotencyKey }) =>
        succeeded(await mesh.call({ endpoint: meshAgentEndpoints.notify, body, signal, idempotencyKey })),
    }),
    defineTool({
      name: 'save_artifact',
      description:
        'Saves a file outside your container for the owner: either a file below /data, or the given text.',
      parameters: {
        name: text('File name without slashes', { minChars: 1, maxChars: 200 }),
        path: optional(text('File below /data to save', { minChars: 1, maxChars: 4096 })),
        content: optional(text('Text to save', { maxChars: wireLimits.artifactMaxBytes })),
        description: withDefault(text('What the file is', { maxChars: 2000 }), ''),
        shared: withDefault(flag('Whether members of your project may read the file'), false),
      },
      effect: 'mesh',
      timeoutMs: meshToolTimeoutMs,
      run: async (values, { mesh, signal, idempotencyKey }) => {
        const content = await contentOf(deps.files, values)
        const body = {
          name: values.name,
          content_base64: content.toString('base64'),
          description: values.description,
          ...(values.shared ? { shared: true } : {}),
        }
        const call = { endpoint: meshAgentEndpoints.saveArtifact, body, signal, idempotencyKey }
        return succeeded(await mesh.call(call))
      },
    }),
  ]
}

async function contentOf(
  files: DataFiles,
  values: { path: string | undefined; content: string | undefined },
): Promise<Buffer> {
  if ((values.path === undefined) === (values.content === undefined)) {
    throw new Problem('bad-request', { detail: 'Give either `path` or `content`.' })
  }
  if (values.path !== undefined) return files.read(values.path, wireLimits.artifactMaxBytes)
  const content = Buffer.from(values.content ?? '')
  if (content.length <= wireLimits.artifactMaxBytes) return content
  throw new Problem('body-too-large', {
    detail: `An artifact has at most ${wireLimits.artifactMaxBytes} bytes.`,
  })
}
