/** Image types that every provider accepts, and every browser displays without running code. */
export const imageTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const
export type ImageType = (typeof imageTypes)[number]

/**
 * The maximum bytes of one picture, and of all pictures in a conversation together: as base64 they fit into one
 * request to the model, beside the longest allowed conversation.
 */
export const imageMaxBytes = 1024 * 1024
/** The maximum number of pictures in a conversation at the same time. */
export const imagesMax = 4

const beginnings: readonly { readonly type: ImageType; readonly begins: readonly (number | null)[] }[] = [
  { type: 'image/png', begins: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] },
  { type: 'image/jpeg', begins: [0xff, 0xd8, 0xff] },
  { type: 'image/gif', begins: [0x47, 0x49, 0x46, 0x38, 0x37, 0x61] },
  { type: 'image/gif', begins: [0x47, 0x49, 0x46, 0x38, 0x39, 0x61] },
  {
    type: 'image/webp',
    begins: [0x52, 0x49, 0x46, 0x46, null, null, null, null, 0x57, 0x45, 0x42, 0x50],
  },
]

/** The image type by the first bytes, whatever the file's name; null for any other type, such as SVG. Pure. */
export function imageTypeOf(bytes: Uint8Array): ImageType | null {
  const found = beginnings.find(({ begins }) =>
    begins.every((byte, index) => byte === null || bytes[index] === byte),
  )
  return found?.type ?? null
}

export function isImageType(value: unknown): value is ImageType {
  return imageTypes.some((type) => type === value)
}
