const ofReading: Record<string, string> = {
  EACCES: 'there is no permission to read it',
  EPERM: 'there is no permission to read it',
  EIO: 'reading it failed',
};

const ofWriting: Record<string, string> = {
  EACCES: 'there is no permission to write there',
  EPERM: 'there is no permission to write there',
  EROFS: 'that disk is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk is full',
};

const ofBoth: Record<string, string> = {
  ENOENT: 'the folder does not exist',
  ENOTDIR: 'a part of the path is a file, not a folder',
  EEXIST: 'a part of the path is a file, not a folder',
  EISDIR: 'that is a folder, not a file',
  ENAMETOOLONG: 'the name is too long',
  EBUSY: 'another program is using that file',
  ETXTBSY: 'another program is using that file',
  ELOOP: 'its links go in a circle',
  ERR_INVALID_ARG_VALUE: 'the name holds characters that no file name can have',
};

/** Why a file could not be read or written, in words that stand within a sentence and that every language knows. */
export function fileReason(error: unknown, of: 'reading' | 'writing'): string {
  if (error instanceof SyntaxError) return 'it is not JSON';
  const { code = '', message } = error as NodeJS.ErrnoException;
  if (code === '') return message;
  return (of === 'reading' ? ofReading : ofWriting)[code] ?? ofBoth[code] ?? `the system answered ${code}`;
}
