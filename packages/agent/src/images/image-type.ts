/** Kinds of pictures that every provider takes. */
export const imageTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const
export type ImageType = (typeof imageTypes)[number]

/**
 * One picture's bytes at most, and those of all pictures in a conversation together: as base64 beside the longest
 * text that a conversation may have, they fit into one request to the model.
 */
export const imageMaxBytes = 1024 * 1024
/** Pictures in a conversation at once. */
export const imagesMax = 4

/** What a file is by its first bytes, whatever its name says; null for anything but a picture that models take. Pure. */
export function imageTypeOf(bytes: Uint8Array): ImageType | null {
  const head = Buffer.from(bytes.subarray(0, 16)).toString('latin1')
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (head.startsWith('GIF87a') || head.startsWith('GIF89a')) return 'image/gif'
  if (head.startsWith('RIFF') && head.slice(8, 12) === 'WEBP') return 'image/webp'
  return null
}

export function isImageType(value: unknown): value is ImageType {
  return imageTypes.some((type) => type === value)
}
