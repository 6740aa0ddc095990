import type { en } from './en.ts';

/** The shape that every language fills: English's keys, less the plural forms that only English has. */
type Shape<T> = {
  [K in keyof T as K extends `${string}_one` ? never : K]: T[K] extends string
    ? string
    : T[K] extends readonly string[]
      ? T[K]
      : Shape<T[K]>;
};

export type Messages = Omit<Shape<typeof en>, 'errors'> & { errors: (typeof en)['errors'] };
