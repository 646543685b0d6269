/** Evidence as a list of its fields. */
export interface FieldRow {
  readonly name: string;
  /** Bytes from the start of the section. */
  readonly offset: number;
  readonly size: number;
  /** Hexadecimal for bytes. */
  readonly value: string;
  readonly meaning?: string;
}

/** One signed thing of the file. */
export interface Section {
  readonly title: string;
  readonly fields: readonly FieldRow[];
}
