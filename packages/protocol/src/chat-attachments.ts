import { wireLimits } from './limits.ts'

/** Files that one message brings along. */
export const attachmentsMax = 8
const nameMaxChars = 80
/** Below /data of the agent, beside what it makes itself. */
const folder = 'uploads'

export interface Attachment {
  readonly path: string
  readonly size: number
  readonly isPicture: boolean
}

/**
 * Where a file of that name goes: letters, digits and `. _ -`, no dot first, and a mark before it so that nothing that is
 * there is overwritten. Pure.
 */
export function uploadPath(name: string, mark: string): string {
  const plain = name
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[.-]+/, '')
    .slice(-nameMaxChars)
  return `${folder}/${mark}-${plain === '' ? 'file' : plain}`
}

/** Why this file cannot come along, or null. Pure. */
export function attachmentFault(
  file: { readonly name: string; readonly size: number },
  before: number,
): string | null {
  if (before >= attachmentsMax) return `${attachmentsMax} files come along with one message at most.`
  if (file.size === 0) return `${file.name} is empty.`
  const mostMb = Math.floor(wireLimits.uploadMaxBytes / 1024 / 1024)
  return file.size > wireLimits.uploadMaxBytes ? `${file.name} is larger than ${mostMb} MB.` : null
}

/** The message as the agent reads it. Pure. */
export function withAttachments(message: string, attachments: readonly Attachment[]): string {
  if (attachments.length === 0) return message
  const lines = attachments.map(
    ({ path, isPicture }) => `- /data/${path}${isPicture ? ' (a picture; view_image shows it to you)' : ''}`,
  )
  return [message, '', 'Attached files:', ...lines].join('\n').trim()
}
