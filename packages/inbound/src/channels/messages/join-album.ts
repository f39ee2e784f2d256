import { channelLimits } from '../channel-limits.ts'
import type { FileWork } from './message-table.ts'
import type { PlainMessage } from './plain-message.ts'

/** The time until which an album accepts more messages, if its first one came at `since`. Pure. */
export function albumTimes(now: number, since = now): NonNullable<FileWork['album']> {
  return { since, until: Math.min(now + channelLimits.albumQuietMs, since + channelLimits.albumMaxMs) }
}

/** Adds a message to an album. Its files are appended; its text and agent are used if the album has none. Pure. */
export function joinAlbum(
  album: FileWork,
  message: PlainMessage,
  { said, now }: { readonly said: Pick<FileWork, 'agentId' | 'text'> | null; readonly now: number },
): FileWork {
  const all = [...album.message.files, ...message.files]
  const files = all.slice(0, channelLimits.albumFilesMax)
  const filesLeftOut = album.message.filesLeftOut + message.filesLeftOut + all.length - files.length
  const words = said === null || said.text === '' ? {} : captionOf(album, said)
  const times = albumTimes(now, album.album?.since)
  const forwarded = album.message.forwarded ?? message.forwarded
  const merged = { ...album.message, files, filesLeftOut, ...(forwarded && { forwarded }) }
  return { ...album, ...words, message: merged, album: times }
}

function captionOf(
  album: FileWork,
  { agentId, text }: Pick<FileWork, 'agentId' | 'text'>,
): Pick<FileWork, 'agentId' | 'text'> {
  return album.text === '' ? { agentId, text } : { agentId: album.agentId, text: `${album.text}\n${text}` }
}

/** True if the album accepts another message without counting it separately. Pure. */
export function hasRoom({ message }: FileWork): boolean {
  return message.files.length + message.filesLeftOut < channelLimits.albumFilesMax
}
