import { channelLimits } from '../channel-limits.ts'
import type { FileWork } from './message-table.ts'
import type { PlainMessage } from './plain-message.ts'

/** Returns until when an album accepts more messages, if its first message came at `since`. Pure. */
export function albumTimes(now: number, since = now): NonNullable<FileWork['album']> {
  return { since, until: Math.min(now + channelLimits.albumQuietMs, since + channelLimits.albumMaxMs) }
}

/** Returns the album with files and text of one more message, and with its agent if the album had no text. Pure. */
export function joinAlbum(
  album: FileWork,
  message: PlainMessage,
  { said: request, now }: { readonly said: Pick<FileWork, 'agentId' | 'text'> | null; readonly now: number },
): FileWork {
  const all = [...album.message.files, ...message.files]
  const files = all.slice(0, channelLimits.albumFilesMax)
  const filesLeftOut = album.message.filesLeftOut + message.filesLeftOut + all.length - files.length
  const caption = request === null || request.text === '' ? {} : captionOf(album, request)
  const times = albumTimes(now, album.album?.since)
  const forwarded = album.message.forwarded ?? message.forwarded
  const merged = { ...album.message, files, filesLeftOut, ...(forwarded && { forwarded }) }
  return { ...album, ...caption, message: merged, album: times }
}

function captionOf(
  album: FileWork,
  { agentId, text }: Pick<FileWork, 'agentId' | 'text'>,
): Pick<FileWork, 'agentId' | 'text'> {
  return album.text === '' ? { agentId, text } : { agentId: album.agentId, text: `${album.text}\n${text}` }
}

/** True if one more message of the album does not count against the sender's rate. Pure. */
export function hasRoom({ message }: FileWork): boolean {
  return message.files.length + message.filesLeftOut < channelLimits.albumFilesMax
}
