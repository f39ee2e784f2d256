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

const head = 'Attached files:'
const pictureNote = ' (a picture; view_image shows it to you)'

/** The message with its attachments, as the agent reads it. Pure. */
export function withAttachments(message: string, attachments: readonly Attachment[]): string {
  if (attachments.length === 0) return message
  const lines = attachments.map(({ path, isPicture }) => `- /data/${path}${isPicture ? pictureNote : ''}`)
  return [message, '', head, ...lines].join('\n').trim()
}

const attachedLine =
  /^- \/data\/(uploads\/[0-9a-f]+-[A-Za-z0-9._-]+)( \(a picture; view_image shows it to you\))?$/

/** Splits a message into its words and its attached files; a message of another form has no files. Pure. */
export function readAttachments(text: string): {
  readonly message: string
  readonly attachments: readonly Omit<Attachment, 'size'>[]
} {
  const lines = text.split('\n')
  const at = lines.lastIndexOf(head)
  const found = at === -1 ? [] : lines.slice(at + 1).map((line) => attachedLine.exec(line))
  const attachments = found.flatMap((line) =>
    line?.[1] === undefined ? [] : [{ path: line[1], isPicture: line[2] !== undefined }],
  )
  const isForm = attachments.length > 0 && attachments.length === found.length
  return isForm
    ? { message: lines.slice(0, at).join('\n').trim(), attachments: attachments.slice(0, attachmentsMax) }
    : { message: text, attachments: [] }
}

/** Returns the words of a message without its list of files; a message of files alone has their names. Pure. */
export function wordsOfMessage(text: string): string {
  const { message, attachments } = readAttachments(text)
  return message === '' ? attachments.map(({ path }) => attachmentName(path)).join(', ') : message
}

/** The name of an attached file, without the mark that makes its path unique. Pure. */
export function attachmentName(path: string): string {
  return path.replace(/^uploads\/[0-9a-f]+-/, '')
}
