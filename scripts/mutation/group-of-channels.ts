const channels = 'packages/mesh/src/channels'

/** What people on chat platforms say, and what they are told. */
export const groupOfChannels = {
  name: 'channels',
  decides: 'who is heard on a chat platform, what of it, and who is told',
  files: [
    `${channels}/delivery/is-wanted.ts`,
    `${channels}/delivery/notice-text.ts`,
    `${channels}/intake/fair-room.ts`,
    `${channels}/intake/join-album.ts`,
    `${channels}/intake/plain-message.ts`,
  ],
  tests: [
    `${channels}/delivery/*.test.ts`,
    `${channels}/intake/{fair-room,join-album,plain-message}.test.ts`,
  ],
}
