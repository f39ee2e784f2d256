import * as z from 'zod/mini'
import { imageMaxBytes, imageTypes, imagesMax } from './image-type.ts'

/** The name of a picture that an agent viewed: the SHA-256 of its bytes. */
export const pictureNameSchema = z
  .string()
  .check(z.regex(/^[0-9a-f]{64}$/, 'a picture is named by its SHA-256'))

/** A picture of a tool's result, as people see it; its bytes are requested by its name. */
export const shownPictureSchema = z.strictObject({
  sha256: pictureNameSchema,
  media_type: z.enum(imageTypes),
  size_bytes: z.int().check(z.minimum(1), z.maximum(imageMaxBytes)),
})
export type ShownPicture = z.infer<typeof shownPictureSchema>

/** Pictures of one result; absent for none. */
export const shownPicturesSchema = z.optional(z.array(shownPictureSchema).check(z.maxLength(imagesMax)))
