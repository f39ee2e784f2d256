import { Problem } from '@flotilla/protocol/problem'
import type { DataFiles } from '../files/data-files.ts'
import { imageMaxBytes, imageTypeOf } from '@flotilla/protocol/image-type'
import { text } from '../tools/parameters.ts'
import { defineTool } from '../tools/tool.ts'
import type { Tool } from '../tools/tool.ts'

const viewTimeoutMs = 60_000

/** Shows pictures on the agent's own disk to its model. */
export function imageTools(deps: { files: DataFiles }): Tool[] {
  return [
    defineTool({
      name: 'view_image',
      description: `Shows you a picture below /data: PNG, JPEG, GIF or WebP of ${imageMaxBytes / 1024 / 1024} MB at most.`,
      parameters: { path: text('Path below /data', { minChars: 1, maxChars: 4096 }) },
      effect: 'none',
      parallelSafe: true,
      timeoutMs: viewTimeoutMs,
      run: async ({ path }) => {
        const bytes = await deps.files.read(path, imageMaxBytes)
        const mediaType = imageTypeOf(bytes)
        if (mediaType === null) {
          throw new Problem('unprocessable', {
            detail: 'The file is not a PNG, JPEG, GIF or WebP picture. Use read_file for text.',
          })
        }
        const output = { path, media_type: mediaType, size_bytes: bytes.length }
        return { output, ok: true, images: [{ mediaType, base64: bytes.toString('base64') }] }
      },
    }),
  ]
}
