import { channelLimits } from '../channel-limits.ts'
import type { FileWork } from './message-table.ts'
import type { PlainMessage } from './plain-message.ts'

/** Until when others may join an album that had its first message at `since`. Pure. */
export function albumTimes(now: number, since = now): NonNullable<FileWork['album']> {
  return { since, until: Math.min(now + channelLimits.albumQuietMs, since + channelLimits.albumMaxMs) }
}

/**
 * An album with one message more: its files behind those that came before, its words and whom they are for where the album
 * had none. Pure.
 */
export function joinAlbum(
  album: FileWork,
  message: PlainMessage,
  { said, now }: { readonly said: Pick<FileWork, 'agentId' | 'text'> | null; readonly now: number },
): FileWork {
  const all = [...album.message.files, ...message.files]
  const files = all.slice(0, channelLimits.albumFilesMax)
  const filesLeftOut = album.message.filesLeftOut + message.filesLeftOut + all.length - files.length
  const words = said === null || said.text === '' ? {} : wordsOf(album, said)
  const times = albumTimes(now, album.album?.since)
  const forwarded = album.message.forwarded ?? message.forwarded
  const merged = { ...album.message, files, filesLeftOut, ...(forwarded && { forwarded }) }
  return { ...album, ...words, message: merged, album: times }
}

function wordsOf(
  album: FileWork,
  { agentId, text }: Pick<FileWork, 'agentId' | 'text'>,
): Pick<FileWork, 'agentId' | 'text'> {
  return album.text === '' ? { agentId, text } : { agentId: album.agentId, text: `${album.text}\n${text}` }
}

/** Whether the album takes one more without being counted as a message of its own. Pure. */
export function hasRoom({ message }: FileWork): boolean {
  return message.files.length + message.filesLeftOut < channelLimits.albumFilesMax
}
