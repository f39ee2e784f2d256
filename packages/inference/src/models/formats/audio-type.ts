/** An audio format that transcription models accept. */
export interface AudioType {
  readonly mediaType: string
  /** The file name extension, by which some providers detect the format. */
  readonly ending: string
}

interface Beginning extends AudioType {
  /** The first bytes of the format; null matches any byte. */
  readonly begins: readonly (number | null)[]
}

const bytesOf = (text: string): readonly (number | null)[] =>
  Array.from(text, (one) => (one === '?' ? null : one.charCodeAt(0)))

const mp3 = { mediaType: 'audio/mpeg', ending: 'mp3' }

const beginnings: readonly Beginning[] = [
  { mediaType: 'audio/ogg', ending: 'ogg', begins: bytesOf('OggS') },
  { mediaType: 'audio/mp4', ending: 'm4a', begins: bytesOf('????ftyp') },
  { mediaType: 'audio/webm', ending: 'webm', begins: [0x1a, 0x45, 0xdf, 0xa3] },
  { mediaType: 'audio/wav', ending: 'wav', begins: bytesOf('RIFF????WAVE') },
  { mediaType: 'audio/flac', ending: 'flac', begins: bytesOf('fLaC') },
  { ...mp3, begins: bytesOf('ID3') },
  { ...mp3, begins: [0xff, 0xfb] },
  { ...mp3, begins: [0xff, 0xf3] },
  { ...mp3, begins: [0xff, 0xf2] },
]

/** Returns the audio format by the first bytes, whatever type the sender declares; null if unknown. Pure. */
export function audioTypeOf(bytes: Uint8Array): AudioType | null {
  const found = beginnings.find(({ begins }) =>
    begins.every((byte, index) => (byte === null ? index < bytes.length : bytes[index] === byte)),
  )
  return found ? { mediaType: found.mediaType, ending: found.ending } : null
}
