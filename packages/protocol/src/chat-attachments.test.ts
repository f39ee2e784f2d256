import { wireLimits } from './limits.ts'
import { describe, expect, it } from 'vitest'
import {
  attachmentFault,
  attachmentName,
  attachmentsMax,
  readAttachments,
  uploadPath,
  withAttachments,
  wordsOfMessage,
} from './chat-attachments.ts'

describe('an attachment', () => {
  it.each([
    ['report.pdf', 'uploads/m-report.pdf'],
    ['../../etc/passwd', 'uploads/m-etc-passwd'],
    ['.bashrc', 'uploads/m-bashrc'],
    ['ein Bild (1).png', 'uploads/m-ein-Bild-1-.png'],
    ['<img src=x>', 'uploads/m-img-src-x-'],
    ['日本', 'uploads/m-file'],
    [`${'a'.repeat(300)}.txt`, `uploads/m-${'a'.repeat(76)}.txt`],
  ])('an attachment of the name %j goes to %s', (name, path) => {
    expect(uploadPath(name, 'm')).toBe(path)
  })

  it('an attachment is refused where it is empty, too large, or one too many', () => {
    expect(attachmentFault({ name: 'a', size: 1 }, 0)).toBeNull()
    expect(attachmentFault({ name: 'a', size: wireLimits.uploadMaxBytes }, attachmentsMax - 1)).toBeNull()
    expect(attachmentFault({ name: 'a', size: 0 }, 0)).toMatch(/empty/)
    expect(attachmentFault({ name: 'a', size: wireLimits.uploadMaxBytes + 1 }, 0)).toMatch(/larger/)
    expect(attachmentFault({ name: 'a', size: 1 }, attachmentsMax)).toMatch(/at most/)
  })

  it('a message in a list shows its words without its files, or the names of the files', () => {
    const files = [
      { path: 'uploads/0a-orders.csv', size: 3, isPicture: false },
      { path: 'uploads/0b-pic.png', size: 3, isPicture: true },
    ]
    expect(wordsOfMessage(withAttachments('Look at these', files))).toBe('Look at these')
    expect(wordsOfMessage(withAttachments('', files))).toBe('orders.csv, pic.png')
    expect(wordsOfMessage('Only words')).toBe('Only words')
  })

  it('an attachment is named to the agent, and a picture with the tool that shows it', () => {
    expect(withAttachments('Look', [])).toBe('Look')
    expect(
      withAttachments('Look', [
        { path: 'uploads/m-a.png', size: 3, isPicture: true },
        { path: 'uploads/m-b.txt', size: 3, isPicture: false },
      ]),
    ).toBe(
      'Look\n\nAttached files:\n- /data/uploads/m-a.png (a picture; view_image shows it to you)\n- /data/uploads/m-b.txt',
    )
  })

  it('attachments are read from a message as they were written into it, and from no other text', () => {
    const files = [
      { path: 'uploads/0a-a.png', size: 3, isPicture: true },
      { path: 'uploads/0b-b.txt', size: 3, isPicture: false },
    ]
    const shown = files.map(({ path, isPicture }) => ({ path, isPicture }))
    expect(readAttachments(withAttachments('Look\nhere', files))).toEqual({
      message: 'Look\nhere',
      attachments: shown,
    })
    expect(readAttachments(withAttachments('', files))).toEqual({ message: '', attachments: shown })
    for (const text of [
      'Look',
      'Look\n\nAttached files:',
      'Attached files:\n- /data/uploads/0a-a.png\nand more',
      'Attached files:\n- /data/uploads/../a.png',
      'Attached files:\n- /data/notes/0a-a.png',
    ])
      expect(readAttachments(text)).toEqual({ message: text, attachments: [] })
    expect(attachmentName('uploads/0a-a.png')).toBe('a.png')
  })
})
