import { wireLimits } from './limits.ts'

/** Files that one message may have. */
export const attachmentsMax = 8
/** The maximum length of the name of an attached file, in characters. */
const nameMaxChars = 80
/** The folder below /data of the agent, beside the agent's own files. */
const folder = 'uploads'

export interface Attachment {
  readonly path: string
  readonly size: number
  readonly isPicture: boolean
}

/**
 * The path for an uploaded file: letters, digits and `. _ -`, no leading dot, and `mark` as a prefix, so that no
 * existing file is overwritten. Pure.
 */
export function uploadPath(name: string, mark: string): string {
  const plain = name
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[.-]+/, '')
    .slice(-nameMaxChars)
  return `${folder}/${mark}-${plain === '' ? 'file' : plain}`
}

/** Why this file cannot be attached, or null. Pure. */
export function attachmentFault(
  file: { readonly name: string; readonly size: number },
  before: number,
): string | null {
  if (before >= attachmentsMax) return `${attachmentsMax} files come along with one message at most.`
  if (file.size === 0) return `${file.name} is empty.`
  const mostMb = Math.floor(wireLimits.uploadMaxBytes / 1024 / 1024)
  return file.size > wireLimits.uploadMaxBytes ? `${file.name} is larger than ${mostMb} MB.` : null
}

/** The message with its attachments, as the agent reads it. Pure. */
export function withAttachments(message: string, attachments: readonly Attachment[]): string {
  if (attachments.length === 0) return message
  const lines = attachments.map(
    ({ path, isPicture }) => `- /data/${path}${isPicture ? ' (a picture; view_image shows it to you)' : ''}`,
  )
  return [message, '', 'Attached files:', ...lines].join('\n').trim()
}
